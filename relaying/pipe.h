// Pipe: one direction of a session in a relay. Frames are forwarded in the order in which they
// arrive, each from the memory it arrived in; its place is granted to the sending side again when
// the next hop has acknowledged it. So a pipe holds at most its memory, and drops nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/endpoint.h"
#include "relaying/frame_port.h"

namespace heddle::relaying {

struct PipeCounts {
  uint64_t frames = 0;  // that the next hop has
  uint64_t bytes = 0;
  uint64_t most_held = 0;  // frames at a time
};

class Pipe {
 public:
  // From connections of one endpoint to those of another, which may be the same. Errors: those of
  // FrameMemory.
  static Result<std::unique_ptr<Pipe>> make(engine::Endpoint& from, engine::Endpoint& to,
                                            uint32_t frames);
  // Both connections are closed or aborted by then.
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // Grants free places to the sender of `from`, and takes what has arrived.
  void receive(engine::Connection from);
  // Forwards what is here, and frees what the next hop has.
  void send(engine::Connection to);
  // Nothing is held.
  bool empty() const { return freed_ == arrived_; }
  // The source sent more than a frame holds, or a connection has ended: nothing more is forwarded.
  bool broken() const { return broken_; }

  // The oldest frame that has not been forwarded, and its replacement by a shorter one; only where
  // waits() says that there is one.
  bool waits() const { return sent_ < arrived_; }
  std::span<const std::byte> front() const;
  void replace_front(const Frame& frame);
  // Adds a frame of the relay's own to an empty pipe, whose source is closed or aborted or was
  // never there.
  void add(const Frame& frame);

  const PipeCounts& counts() const { return counts_; }

 private:
  Pipe(engine::Endpoint& from, engine::Endpoint& to, FrameMemory memory)
      : from_(from), to_(to), memory_(std::move(memory)), bytes_(memory_.frames()) {}

  engine::Endpoint& from_;
  engine::Endpoint& to_;
  FrameMemory memory_;
  std::vector<uint32_t> bytes_;  // of each place
  std::deque<engine::Operation> receiving_;
  std::deque<engine::Operation> sending_;
  // Frames so far: freed_ <= sent_ <= arrived_ <= posted_ <= freed_ + places.
  uint64_t posted_ = 0;
  uint64_t arrived_ = 0;
  uint64_t sent_ = 0;
  uint64_t freed_ = 0;
  bool broken_ = false;
  PipeCounts counts_;
};

}  // namespace heddle::relaying
