// Streams: messages of one size in one direction, several in flight at a time. The sender ends a
// stream with as many empty messages as receives are posted ahead, so both sides end with nothing
// outstanding. step() never blocks; the owner calls it after every progress of the endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/anonymous_memory.h"
#include "base/nanos.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "engine/message_link.h"
#include "measure/arrival_timeline.h"
#include "measure/control.h"

namespace heddle::measure {

// What memory for messages holds at first.
enum class SlotContent : uint8_t {
  kZeros,        // so that a test does not measure how the system finds memory
  kZerosLater,   // the same, once find_memory() has said that it is all there
  kOverwritten,  // anything: its user fills all of it first
};

// Memory for `window` messages, registered; released only when no operation uses it any more.
class MessageSlots {
 public:
  // Errors: kExhausted (the system has no such amount), those of Endpoint::register_memory.
  static Result<MessageSlots> make(engine::Endpoint& endpoint, uint64_t message_bytes,
                                   uint32_t window, SlotContent content = SlotContent::kZeros);

  // Makes the system find memory for the next `most` bytes; true once it has for all. A server that
  // serves others meanwhile does it bit by bit.
  bool find_memory(uint64_t most);

  std::span<std::byte> slot(uint64_t number) const;
  engine::MessageBytes message(uint64_t number, uint64_t bytes) const;

 private:
  AnonymousMemory bytes_;
  uint64_t found_ = 0;
  engine::Memory memory_;
  uint64_t message_bytes_ = 0;
  uint32_t window_ = 0;
};

// What went through a stream.
struct StreamResult {
  uint64_t messages = 0;
  uint64_t payload_bytes = 0;
  Nanos began;                  // first posted (sender) or first arrived (receiver)
  Nanos ended;                  // last acknowledged or arrived
  uint64_t wrong_messages = 0;  // checked and found different
  std::string first_difference;
  ArrivalTimeline timeline;  // of the receiver

  double bits_per_s() const;
};

class SendStream {
 public:
  // When messages are filled: kLater with the first that is sent in its place, some at a time.
  enum class Filling : uint8_t { kNow, kLater };

  SendStream(engine::MessageLink& link, const TestOptions& options, MessageSlots slots,
             Filling filling = Filling::kNow);
  ~SendStream();
  SendStream(const SendStream&) = delete;
  SendStream& operator=(const SendStream&) = delete;

  // Takes what is done and posts what fits; after the first call with `more` false, only the end
  // marks. Errors: why the connection failed.
  Result<void> step(bool more);
  // Everything sent has arrived, end marks included.
  bool ended() const { return marks_left_ == 0 && under_way_.empty(); }
  const StreamResult& result() const { return result_; }

 private:
  struct Sending {
    engine::Operation operation;
    uint64_t bytes = 0;
  };
  Result<void> reap();

  engine::MessageLink& link_;
  const TestOptions options_;
  const MessageSlots slots_;
  const Filling filling_;
  std::deque<Sending> under_way_;
  uint64_t posted_ = 0;
  uint32_t marks_left_;
  StreamResult result_;
};

class ReceiveStream {
 public:
  ReceiveStream(engine::MessageLink& link, const TestOptions& options, MessageSlots slots);
  ~ReceiveStream();
  ReceiveStream(const ReceiveStream&) = delete;
  ReceiveStream& operator=(const ReceiveStream&) = delete;

  // Takes what has arrived and posts receives ahead. Errors: why the connection failed.
  Result<void> step();
  bool ended() const { return marks_ > 0 && under_way_.empty(); }
  const StreamResult& result() const { return result_; }

 private:
  void take(uint64_t bytes);

  engine::MessageLink& link_;
  const TestOptions options_;
  const MessageSlots slots_;
  std::deque<engine::Operation> under_way_;
  uint64_t posted_ = 0;
  uint64_t taken_ = 0;
  uint32_t marks_ = 0;
  StreamResult result_;
};

}  // namespace heddle::measure
