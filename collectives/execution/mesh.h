// Mesh: a communicator's connections to its other ranks, made when they are first wanted (the
// higher rank connects), and what is told on their control channels. It notices who is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "collectives/execution/control.h"
#include "collectives/execution/slots.h"
#include "collectives/links.h"
#include "collectives/members.h"

namespace heddle::collectives {

class Mesh final : public LinkUser {
 public:
  struct Stalled {
    uint32_t rank = 0;
    Signature signature;
  };

  Mesh(Links& links, const Members& members);
  ~Mesh() override;

  // The connection to a rank, 0 while it has not connected yet. Errors: it is gone or cannot be
  // reached.
  Result<engine::Connection> reach(uint32_t rank);
  // Looks at what peers said; true: there was something.
  bool poll();

  // The first reason not to go on that was seen or told.
  const std::optional<Failure>& failure() const { return failure_; }
  // What stands behind an operation with this rank that ended in an error.
  Failure cause(uint32_t rank, ErrorCode error);
  // Its communicator ended without a fault.
  bool said_goodbye(uint32_t rank);
  // A peer that waits for a call, and for which.
  bool poll_stalled(Stalled& stalled);
  // Who has not made a call, as a peer said.
  bool poll_late(Late& late);
  bool connected(uint32_t rank) const { return peers_[rank].connection != 0; }

  // Tells every rank that is connected, or connects before abort().
  void tell(const Failure& failure);
  void tell_stalled(uint32_t rank, const Signature& signature);
  void tell_late(uint32_t rank, const Late& late);
  // All that are connected, but the one that is late.
  void spread_late(const Late& late);
  // All that was said has arrived, or cannot.
  bool all_told();

  // Closes all connections at once: every operation on them ends.
  void abort();
  // Says goodbye to all; operations with them end.
  void begin_close();
  // All connections are closed.
  bool closed();

 private:
  struct Peer {
    engine::Connection connection = 0;
    engine::Operation receive;
    Slot slot;
    bool gone = false;
  };
  struct Saying {
    engine::Operation send;
    Slot slot;
  };

  void handle_link(const Hello& hello, engine::Connection connection) override;
  Result<void> connect(uint32_t rank);
  Result<void> listen(uint32_t rank);
  template <typename Write>
  bool say(uint32_t rank, Write write);
  void tell_one(uint32_t rank, const Failure& failure);
  bool hear(uint32_t rank);
  void handle_control(uint32_t rank, std::span<const std::byte> bytes);
  void note_gone(uint32_t rank);
  void note(Failure failure);

  Links& links_;
  engine::Endpoint& endpoint_;
  Members members_;
  SlotPool slots_;
  std::vector<Peer> peers_;
  std::vector<uint32_t> connected_;  // ranks, in the order in which they were
  std::vector<Saying> sayings_;
  Ring<Stalled> stalled_;
  Ring<Late> late_;
  std::optional<Failure> failure_;
  std::optional<Failure> told_;  // to all
  bool aborted_ = false;
};

}  // namespace heddle::collectives
