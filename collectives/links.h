// Links: takes the connections that other ranks open to an endpoint and hands each to the
// communicator that it is for. All communicators of an endpoint share one; it is driven by them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/ring.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

struct Hello;
class SharedMemoryNegotiation;
class SlotPool;

// What a communicator is to its links.
class LinkUser {
 public:
  virtual ~LinkUser() = default;
  // A peer of this communicator connected; the connection is the user's from now on.
  virtual void handle_link(const Hello& hello, engine::Connection connection) = 0;
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
  // Polls for new connections and their first messages; true: there was one.
  bool poll();

 private:
  struct Stranger;

  // Whether it needs no more looks.
  bool look_at(Stranger& stranger);
  bool hand_over(Stranger& stranger);
  bool has_ended(uint64_t communicator) const;

  engine::Endpoint& endpoint_;
  std::unique_ptr<SlotPool> slots_;
  std::unique_ptr<SharedMemoryNegotiation> negotiation_;
  std::vector<std::unique_ptr<Stranger>> strangers_;
  std::map<uint64_t, LinkUser*> users_;
  Ring<uint64_t> ended_;  // communicators that were, the latest last
};

}  // namespace heddle::collectives
