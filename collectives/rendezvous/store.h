// Store: the service where the ranks of a run register. Rank 0 serves it over a separate endpoint
// until all ranks have received the group. A state machine that never waits: the owner of the
// endpoint drives it and calls turn() after each progress.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collectives/rendezvous/messages.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class Store {
 public:
  // `self` is rank 0's; its ticket is that of this store, its address of no host unless its
  // endpoint is bound to one. `endpoint` accepts connections, is not shared, and may be destroyed
  // before the store. `job` must not be 0.
  Store(engine::Endpoint& endpoint, Registration self, uint64_t job);

  void turn();
  // Sends the error to all ranks that wait for the group.
  void fail_all(const Error& error);

  // True if there is an outcome, and every rank that waited for it has received it or is gone.
  // After a mistake that concerns those who come late, too, a second must have passed.
  bool done() const;
  // The group, or why there is none; nothing while ranks are missing.
  const std::optional<Result<Group>>& outcome() const { return outcome_; }
  // Registrations that do not belong to the run, and were refused without harm to it.
  uint64_t refused() const { return refused_; }
  // For a wait of `waited` that ends: names the ranks that have not come.
  Error missing(Nanos waited) const;

 private:
  struct Said {
    std::vector<std::byte> message;  // its address is in use
    engine::Operation sending;
  };

  struct Visitor {
    std::vector<std::byte> asked;
    engine::Operation receiving;
    std::optional<Registration> registration;  // while it waits
    Nanos until;
    Nanos proven_at;                    // when it was last known to live
    engine::Operation proof;            // a running check of that
    std::optional<Registration> claim;  // to the rank of another, which is asked if it lives
    Nanos claimed_at;
    std::deque<Said> said;
    bool answered = false;
    Nanos since;  // when it came
  };

  void take_visitors();
  // Closes connections that do not register in time, and the oldest of them if there are too many,
  // so that idle connections keep no rank out.
  void send_away_idlers();
  void send_away(std::map<engine::Connection, Visitor>::iterator visitor);
  void listen(engine::Connection connection, Visitor& visitor);
  // Whether nothing names the memory of a visitor whose connection is closed.
  bool settled(Visitor& visitor);
  // False: it is gone.
  bool look_at(engine::Connection connection, Visitor& visitor);
  void hear(engine::Connection connection, Visitor& visitor, const Registration& registration);
  void settle_claim(engine::Connection connection, Visitor& visitor);
  // Why a registration is refused for now; its sender should retry.
  std::optional<Error> not_now(const Registration& registration) const;
  // Why there can be no group with it.
  std::optional<Error> impossible(const Registration& registration) const;
  // Whether its registration shows a secret of the run: the ticket of its file, its token, or a
  // cluster key.
  bool is_proven(engine::Connection connection) const;
  // Sends the error to a connection that is no rank of this run, and counts it; the rendezvous
  // continues.
  void refuse(engine::Connection connection, Visitor& visitor, const Error& error);
  engine::Operation say(engine::Connection connection, Visitor& visitor,
                        std::vector<std::byte> message);
  // Sends the final message to it.
  void answer(engine::Connection connection, Visitor& visitor, const Answer& answer);
  void leave(const Visitor& visitor);
  // Whether a rank that is registered was alive at `when`; asks it where that is not known.
  bool alive_since(engine::Connection connection, Visitor& visitor, Nanos when);
  bool all_are_here();
  void complete();
  transport::Address address_of_own_host() const;
  bool is_mistake() const;

  engine::Endpoint& endpoint_;
  const Registration self_;
  const uint64_t job_;
  std::map<engine::Connection, Visitor> visitors_;
  std::list<Visitor> leaving_;  // given back; operations may still name their memory
  uint64_t refused_ = 0;
  std::string latest_refusal_;
  std::map<uint32_t, engine::Connection> registered_;  // by rank, without rank 0
  std::set<uint32_t> gone_;  // ranks that came, and waited for as long as they would
  std::optional<Result<Group>> outcome_;
  Nanos ended_at_;
};

}  // namespace heddle::collectives
