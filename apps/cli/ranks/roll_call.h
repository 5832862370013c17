// RollCall: every rank of a group connects to every other, and rank 0 collects the pairs that fail.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "collectives/group.h"
#include "engine/endpoint.h"

namespace heddle::cli {

// By rank: the ranks that it does not reach. A rank that sends no report to rank 0 reaches none.
using Unreached = std::vector<std::vector<uint32_t>>;

class RollCall {
 public:
  // `endpoint` is the one that the group knows; both must outlive it. `stopped` ends it early.
  RollCall(engine::Endpoint& endpoint, const collectives::Group& group,
           std::function<bool()> stopped);
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  // Waits for the others, at most `patience`. Rank 0 gets the whole, others what they know of
  // themselves.
  Unreached run(Nanos patience);

 private:
  // What each side says first, and then to rank 0 what it has found: a byte for each rank.
  struct Greeting {
    uint64_t job = 0;
    uint32_t rank = 0;
    uint32_t size = 0;
  };
  struct Peer {
    engine::Connection connection = 0;
    bool greeted = false;
    Greeting sent;
    Greeting heard;
    engine::Operation sending;
    engine::Operation receiving;
    std::vector<uint8_t> report;  // which ranks it reaches
    engine::Operation reporting;
  };

  Peer& add(engine::Connection connection);
  void greet_higher();
  void take_lower();
  void look_at(Peer& peer);
  bool all_reached() const;
  template <typename Done>
  void wait_until(Done done, Nanos until);
  void collect(Unreached& unreached, Nanos until);
  void tell(Nanos until);

  engine::Endpoint& endpoint_;
  const collectives::Group& group_;
  std::function<bool()> stopped_;
  std::list<Peer> peers_;       // addresses are in use
  std::vector<Peer*> by_rank_;  // null: not reached
};

}  // namespace heddle::cli
