// Links: takes the connections that other ranks open to an endpoint and hands each to the
// communicator that it is for. All communicators of an endpoint share one; it is driven by them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "collectives/execution/hello.h"
#include "collectives/execution/slots.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class SharedMemoryNegotiation;

// What a communicator is to its links.
class LinkUser {
 public:
  virtual ~LinkUser() = default;
  // A peer of this communicator connected; the connection is the user's from now on.
  virtual void handle_link(const Hello& hello, engine::Connection connection) = 0;
};

// A connection to a rank that no communicator uses, with the receive of its next control message,
// or with that message where it has come.
struct KeptConnection {
  engine::Connection connection = 0;
  engine::Operation receive;
  Slot slot;
  std::optional<Hello> hello;
};

class Links {
 public:
  // The endpoint accepts connections, and no other code takes them. It must outlive this object.
  explicit Links(engine::Endpoint& endpoint);
  ~Links();
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  engine::Endpoint& endpoint() { return endpoint_; }
  // What ranks of this host share.
  SharedMemoryNegotiation& negotiation() { return *negotiation_; }

  // CHECKs that no other user has the id. Peers that connected before are handed over at once.
  void add(uint64_t communicator, LinkUser& user);
  // Refuses later connections for this communicator, so that no rank waits for one that has left.
  void remove(uint64_t communicator);
  // The same for one that does not exist here and never will.
  void refuse(uint64_t communicator);

  // Memory of control messages, in pieces of kControlBytes.
  SlotPool& control_slots() { return *slots_; }
  // Returns its slot when the operation has ended.
  void return_later(engine::Operation operation, const Slot& slot);
  // Takes a connection that a communicator no longer needs. Another that contains the same two
  // ranks uses it: where its peer connects, when that names the communicator; else by take_kept().
  void keep(const KeptConnection& kept, const transport::Address& peer, bool peer_connects);
  std::optional<KeptConnection> take_kept(const transport::Address& peer);

  // Polls for new connections and their first messages; true: there was one.
  bool poll();

 private:
  struct Stranger;

  // Whether it needs no more looks.
  bool look_at(Stranger& stranger);
  bool hand_over(Stranger& stranger);
  bool refuse_wanted(Stranger& stranger);
  bool has_ended(uint64_t communicator) const;
  void drop_closed();

  engine::Endpoint& endpoint_;
  std::unique_ptr<SlotPool> slots_;
  std::unique_ptr<SharedMemoryNegotiation> negotiation_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  std::map<uint64_t, LinkUser*> users_;
  Ring<uint64_t> ended_;  // communicators that were, the latest last
  std::multimap<transport::Address, KeptConnection> kept_;  // that this rank connects by
  std::vector<KeptConnection> returned_;                    // operations that have not ended
};

}  // namespace heddle::collectives
