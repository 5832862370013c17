// Echo: messages that a server sends back as they came; ping and the latency test are rounds of it.
// Both sides keep kEchoWindow receives posted ahead, and a client ends with as many empty messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>

#include "base/nanos.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "measure/params.h"
#include "measure/stream.h"

namespace heddle::measure {

inline constexpr uint32_t kEchoWindow = params::kEchoWindow;
inline constexpr uint32_t kEchoSlots =
    2 * kEchoWindow;  // a slot is used again after its echo has arrived

// Waits for an operation; not done: the user interrupted.
engine::Outcome wait_unless_interrupted(engine::MessageLink& link, engine::Operation operation);

// How many more receives an echo server posts, given its posted receives, unacknowledged echoes and
// end marks taken. A client ends with kEchoWindow marks, and each needs a receive, also where
// unacknowledged echoes left slots for a single receive when the first mark came.
constexpr uint32_t echo_receives_due(size_t receives, size_t echoes, uint32_t marks) {
  if (receives + marks >= kEchoWindow || receives + echoes >= kEchoSlots) return 0;
  return static_cast<uint32_t>(
      std::min<size_t>(kEchoWindow - receives - marks, kEchoSlots - receives - echoes));
}

class EchoServer {
 public:
  // `slots` holds kEchoSlots messages.
  EchoServer(engine::MessageLink& link, uint64_t message_bytes, MessageSlots slots);
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  // Sends back what has come; never blocks. Errors: why the connection failed.
  Result<void> step();
  bool ended() const { return marks_ == kEchoWindow && echoes_.empty(); }
  uint64_t rounds() const { return rounds_; }

 private:
  Result<void> post_receives();
  Result<void> reap_echoes();

  engine::MessageLink& link_;
  const uint64_t message_bytes_;
  const MessageSlots slots_;
  std::deque<engine::Operation> receives_;
  std::deque<engine::Operation> echoes_;
  uint64_t posted_ = 0;
  uint64_t taken_ = 0;
  uint64_t rounds_ = 0;
  uint32_t marks_ = 0;
};

class EchoClient {
 public:
  // `sending` holds one message, `receiving` kEchoWindow.
  EchoClient(engine::MessageLink& link, uint64_t message_bytes, MessageSlots sending,
             MessageSlots receiving);
  ~EchoClient();
  EchoClient(const EchoClient&) = delete;
  EchoClient& operator=(const EchoClient&) = delete;

  // Waits until message() may be changed. Errors as round().
  Result<void> ready();
  // The message of the next round, for the caller to fill.
  std::span<std::byte> message() const { return sending_.slot(0); }
  // What came back in the latest round.
  std::span<const std::byte> echo() const;
  // One round: returns how long it took. Errors: kCancelled (interrupted), why the connection
  // failed.
  Result<Nanos> round();
  // Ends the rounds on both sides. Errors as round().
  Result<void> finish();

 private:
  Result<void> post_receives();
  Result<engine::Outcome> wait_for(engine::Operation operation);

  engine::MessageLink& link_;
  const uint64_t message_bytes_;
  const MessageSlots sending_;
  const MessageSlots receiving_;
  std::deque<engine::Operation> receives_;
  engine::Operation sent_;
  uint64_t posted_ = 0;
  uint64_t taken_ = 0;
  uint64_t echo_bytes_ = 0;
};

}  // namespace heddle::measure
