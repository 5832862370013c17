// FramePort: frames over one connection, at an end of a session. It holds the memory of those that
// arrive and of those that leave; what cannot be held is not granted to the other side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "base/anonymous_memory.h"
#include "base/result.h"
#include "engine/endpoint.h"
#include "relaying/frame.h"

namespace heddle::relaying {

inline constexpr engine::Channel kFrameChannel = 0;

// Memory for frames of kFrameBytes each, registered.
class FrameMemory {
 public:
  // Errors: kExhausted, those of register_memory().
  static Result<FrameMemory> make(engine::Endpoint& endpoint, uint32_t frames);

  // Registers it at a second endpoint, for shared_payload(). Errors: likewise.
  Result<void> share(engine::Endpoint& endpoint);

  std::span<std::byte> frame(uint64_t number) const;
  transport::Payload payload(uint64_t number, size_t bytes) const;
  transport::Payload shared_payload(uint64_t number, size_t bytes) const;
  uint32_t frames() const { return frames_; }

 private:
  AnonymousMemory pages_;
  engine::Memory memory_;
  engine::Memory shared_;
  uint32_t frames_ = 0;
};

class FramePort {
 public:
  // Owns the connection from now on. Errors: those of FrameMemory, kClosed.
  static Result<std::unique_ptr<FramePort>> make(engine::Endpoint& endpoint,
                                                 engine::Connection connection, uint32_t frames_in,
                                                 uint32_t frames_out);
  // Aborts the connection where it is not closed.
  ~FramePort();
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;

  // The bytes of the oldest frame that has arrived; pop() releases them. Nothing: none has.
  std::optional<std::span<const std::byte>> front();
  void pop();
  // Whether a frame can be posted. write() CHECKs it; `priority` frames may use the last places,
  // which data leave free for confirmations.
  bool has_space(bool priority = false);
  void write(const Frame& frame);
  // All frames written have reached the next hop.
  bool idle();

  engine::ConnectionStatus status() const { return endpoint_.status(connection_); }
  engine::Connection connection() const { return connection_; }
  // Closes, which takes until all that was written has reached the next hop.
  void begin_close() { endpoint_.begin_close(connection_); }
  Result<void> close(Nanos timeout) { return endpoint_.close(connection_, timeout); }

 private:
  FramePort(engine::Endpoint& endpoint, engine::Connection connection, FrameMemory in,
            FrameMemory out)
      : endpoint_(endpoint), connection_(connection), in_(std::move(in)), out_(std::move(out)) {}
  void post_receives();
  void reap();

  engine::Endpoint& endpoint_;
  const engine::Connection connection_;
  FrameMemory in_;
  FrameMemory out_;
  std::deque<engine::Operation> receiving_;  // the oldest is of frame `popped_`
  std::deque<engine::Operation> sending_;
  std::optional<size_t> front_bytes_;
  uint64_t posted_ = 0;
  uint64_t popped_ = 0;
  uint64_t written_ = 0;
};

}  // namespace heddle::relaying
