// Seeker: a rank's side of rendezvous: finds the store, registers and waits for the group. Retries
// while there is no store. A state machine over the rank's own endpoint, driven as Store is.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <vector>

#include "collectives/rendezvous/messages.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

// Where a store may be.
struct StorePlace {
  transport::Address address;
  uint64_t ticket = 0;
};

class Seeker {
 public:
  // Where to look now; asked again before every attempt. Errors: why there is nowhere to look yet.
  using FindPlaces = std::function<Result<std::vector<StorePlace>>()>;

  // `self` without ticket and reached; its timeout begins now. `endpoint` must outlive it.
  Seeker(engine::Endpoint& endpoint, Registration self, FindPlaces find_places);
  // Cancels running operations; drives the endpoint for that unless its owner drives it.
  ~Seeker();
  Seeker(const Seeker&) = delete;
  Seeker& operator=(const Seeker&) = delete;

  // Returns when it wants the next at the latest.
  Nanos turn();
  // The group, or why there is none; nothing while it waits.
  const std::optional<Result<Group>>& outcome() const { return outcome_; }
  // Whether, after an outcome, the store knows that it arrived.
  bool settled() const { return outcome_ && attempts_.empty() && ending_.empty(); }
  // For a wait that ends without outcome: the latest error.
  Error trouble() const;

 private:
  struct Attempt {
    StorePlace place;
    engine::Connection connection = 0;
    bool asked = false;
    Nanos welcome_until;  // asked: without a word by then, something else listens there
    std::vector<std::byte> registration;
    std::vector<std::byte> answer;
    std::vector<std::byte> body;
    engine::Operation sending;
    engine::Operation receiving;
    engine::Operation receiving_body;
  };

  void begin(Nanos now);
  // False: it is over, and trouble_ says why.
  bool look_at(Attempt& attempt, bool may_ask);
  bool ask(Attempt& attempt);
  bool hear(Attempt& attempt);
  bool receive_answer(Attempt& attempt);
  bool hear_body(Attempt& attempt);
  bool over(const Attempt& attempt, const Error& error);
  void end(Attempt& attempt);
  bool settled(Attempt& attempt);

  engine::Endpoint& endpoint_;
  Registration self_;
  FindPlaces find_places_;
  const Nanos until_;
  Nanos begin_at_;
  Nanos prefer_until_;
  std::list<Attempt> attempts_;  // addresses are in use
  std::list<Attempt> ending_;    // given back; operations may still name their memory
  std::optional<Error> trouble_;
  std::optional<Result<Group>> outcome_;
};

}  // namespace heddle::collectives
