// Discovery: how many distinct ways the fabric has between two hosts, as a traceroute over all
// entropies of a connection finds it: the routers on a way name themselves in the ICMP answers to
// packets whose hop limit ends there. A state machine without I/O: it says which probes leave, is
// told what came back, and ends with a number of ways, or without one where it cannot be sure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "transport/address.h"

namespace heddle::transport {

class Discovery {
 public:
  // Longer ways than any fabric in a data centre has.
  static constexpr uint8_t kMostHops = 8;
  // A packet that is to leave on `path` and to die at its hop `hop`. `confirms`: it is expected to
  // arrive, and on_arrived() is to be called if the peer acknowledges it.
  struct Probe {
    uint16_t path = 0;
    uint8_t hop = 0;
    bool confirms = false;
  };
  using Router = std::array<uint8_t, 16>;  // its address, as Address::host

  Discovery(Nanos now, uint16_t paths);

  // False: nothing is to leave now; next_timeout() says when it may be otherwise.
  bool poll_probe(Nanos now, Probe& probe);
  Nanos next_timeout() const { return done_ ? Nanos::never() : at_; }
  // `router` says that a probe of this path and hop ended there.
  void on_answer(uint16_t path, uint8_t hop, const Router& router);
  // The peer has acknowledged a probe with this hop limit.
  void on_arrived(uint8_t hop);

  bool done() const { return done_; }
  // Distinct ways; 0: not known (yet).
  uint32_t ways() const { return ways_; }
  // Which way a path takes, from 0; of use where ways() is not 0.
  uint16_t way_of(uint16_t path) const { return way_of_[path]; }
  // Routers on the way of a path, and each of them; null: it did not answer.
  uint8_t hops() const { return hop_ > 0 ? static_cast<uint8_t>(hop_ - 1) : uint8_t{0}; }
  const Router* router(uint16_t path, uint8_t hop) const;
  uint16_t paths() const { return static_cast<uint16_t>(way_of_.size()); }
  // At most `each` paths of every way, the lowest numbers: more entropies find no more ways.
  std::vector<uint16_t> some_of_each_way(uint16_t each) const;

  // Whether so many random entropies that were found to take `ways` ways leave less than one chance
  // in a hundred that there is another: (ways + 1)(1 - 1/(ways + 1))^entropies bounds that chance
  // where switches hash evenly.
  static bool enough(uint32_t ways, uint32_t entropies);

 private:
  static constexpr uint16_t kSilent = UINT16_MAX;

  uint16_t& seen(uint16_t path, uint8_t hop) { return seen_[size_t{path} * kMostHops + hop - 1]; }
  uint16_t seen(uint16_t path, uint8_t hop) const {
    return seen_[size_t{path} * kMostHops + hop - 1];
  }
  void begin_hop(Nanos now);
  void begin_round(Nanos now);
  void end_round(Nanos now);
  void finish();

  std::vector<Router> routers_;
  std::vector<uint16_t> seen_;  // indices into routers_, by path and hop
  std::vector<uint16_t> way_of_;
  Nanos at_;                 // the next probe, or the end of a round
  uint8_t hop_ = 0;          // under way
  uint8_t idle_rounds_ = 0;  // of this hop, without a new answer
  uint16_t answered_ = 0;    // paths that answered at this hop
  uint16_t before_ = 0;      // of these, before this round
  uint16_t cursor_ = 0;      // paths that this round has asked
  uint16_t left_ = 0;        // probes that this round may still send
  uint32_t sent_ = 0;
  uint32_t ways_ = 0;
  bool confirming_ = false;
  bool done_ = false;
};

}  // namespace heddle::transport
