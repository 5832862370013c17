// Mesh: a communicator's connections to its other ranks, made when they are first wanted (the
// higher rank connects), the links over which messages go, and the control messages. It detects
// ranks that are gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/ring.h"
#include "collectives/execution/absent_ranks.h"
#include "collectives/execution/buffered_sends.h"
#include "collectives/execution/control.h"
#include "collectives/execution/control_outbox.h"
#include "collectives/execution/kept_streams.h"
#include "collectives/execution/link.h"
#include "collectives/execution/peer_links.h"
#include "collectives/execution/slots.h"
#include "collectives/links.h"
#include "collectives/members.h"
#include "collectives/membership/membership_mailbox.h"

namespace heddle::collectives {

// `small` is for signatures and small messages; it and `buffered_sends` must outlive the mesh.
class Mesh final : public LinkUser {
 public:
  struct Stalled {
    uint32_t rank = 0;
    Signature signature;
  };

  Mesh(Links& links, const Members& members, SlotPool& small, BufferedSends& buffered_sends,
       const MeshOptions& options);
  ~Mesh() override;

  // The link to a rank, null while there is none yet. Errors: it is gone or cannot be reached.
  Result<Link*> reach(uint32_t rank, bool sends);
  // Handles control messages; true: there was one.
  bool poll();
  // When poll() wants to look again by itself.
  Nanos looks_again_at() const { return absent_.looks_again_at(); }

  // The first failure that this rank detected or received.
  const std::optional<Failure>& failure() const { return failure_; }
  // The cause of an operation with this rank that ended in an error.
  Failure cause(uint32_t rank, ErrorCode error);
  // Its communicator ended without a fault.
  bool said_goodbye(uint32_t rank);
  // A peer that waits for a call, and for which.
  bool poll_stalled(Stalled& stalled) { return take(stalled_, stalled); }
  // A peer's report of a rank that has not made a call, or has made it since.
  bool poll_late(Late& late) { return take(late_, late); }
  bool connected(uint32_t rank) const { return peers_[rank].connection != 0; }

  // Sends a failure to every rank that is connected, or connects before abort().
  void send_failure(const Failure& failure);
  void send_stalled(uint32_t rank, const Signature& signature);
  void send_late(uint32_t rank, const Late& late);
  // To all connected ranks except the one it is about.
  void broadcast_late(const Late& late);
  // All control messages have arrived, or cannot.
  bool all_sent() { return outbox_.all_acknowledged(); }

  // --- after a failure: mesh_kept.cc ---

  // No other process reads this one's memory any more.
  void shut_memory();
  // This rank has withdrawn its calls: connections to ranks that live are to be kept.
  void begin_keeping();
  // Whether both sides are ready to use the connection for another communicator, and that it is
  // handed to links for one.
  bool kept(uint32_t rank) const;
  void release(uint32_t rank);
  // Closes the connection to a rank, which is gone from now on.
  void drop(uint32_t rank);
  void drop_connection(engine::Connection connection);
  bool gone(uint32_t rank) const { return peers_[rank].gone; }
  // A rank that is gone, each once.
  bool poll_gone(uint32_t& rank) { return take(gone_, rank); }
  // Connects, or sees to it that a rank that does not connect is found to be gone.
  void expect(uint32_t rank);
  MembershipMailbox& membership() { return membership_; }
  // False: it is not connected, or the message is too large.
  bool send_membership(uint32_t rank, const MembershipMessage& message);

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
    KeptStreams kept;
  };

  template <typename Item>
  static bool take(Ring<Item>& items, Item& item) {
    if (items.empty()) return false;
    item = items.pop_front();
    return true;
  }

  void handle_link(const Hello& hello, engine::Connection connection) override;
  Result<void> connect(uint32_t rank);
  Result<void> listen(uint32_t rank);
  void note_connected(uint32_t rank);
  bool send_control(uint32_t rank, const ControlOutbox::Write& write);
  bool send_report(uint32_t rank, const ControlOutbox::Write& write);
  void handle_hello(uint32_t rank, const Hello& hello);
  void send_failure_to(uint32_t rank, const Failure& failure);
  bool receive_control(uint32_t rank);
  void handle_control(uint32_t rank, std::span<const std::byte> bytes);
  void note_gone(uint32_t rank);
  void note(Failure failure);
  bool look_for_absent();
  void offer_to_keep(uint32_t rank);
  void handle_kept(uint32_t rank, const StreamCounts& posted);
  void align(uint32_t rank);
  void send_answer(uint32_t rank, const PeerLinks::Answer& answer);

  Links& links_;
  engine::Endpoint& endpoint_;
  Members members_;
  SlotPool& slots_;  // of control messages
  PeerLinks peer_links_;
  std::vector<Peer> peers_;
  std::vector<uint32_t> connected_;  // ranks, in the order in which they were
  AbsentRanks absent_;
  ControlOutbox outbox_;
  Ring<Stalled> stalled_;
  Ring<Late> late_;
  Ring<uint32_t> gone_;
  MembershipMailbox membership_;
  std::optional<Failure> failure_;
  std::optional<Failure> sent_failure_;  // to all
  bool keeping_ = false;
  bool aborted_ = false;
};

}  // namespace heddle::collectives
