// Discovery: how many distinct ways the fabric has between two hosts, as a traceroute over all
// entropies of a connection finds it: the routers on a way name themselves in the ICMP answers to
// packets whose hop limit ends there. A state machine without I/O: it says which probes leave, is
// told what came back, and ends with a number of ways, or with the reason why it cannot be sure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "transport/fabric_ways.h"
#include "transport/params.h"

namespace heddle::transport {

class Discovery {
 public:
  static constexpr uint8_t kMostHops = params::discovery::kMostHops;
  // A packet that is to leave on `path` and to die at its hop `hop`. `confirms`: it asks the peer
  // for an acknowledgement, and on_arrived() is to be called if there is one.
  struct Probe {
    uint16_t path = 0;
    uint8_t hop = 0;
    bool confirms = false;
  };

  Discovery(Nanos now, uint16_t paths);

  // False: nothing is to leave now; next_timeout() says when it may be otherwise.
  bool poll_probe(Nanos now, Probe& probe);
  Nanos next_timeout() const { return done_ ? Nanos::never() : at_; }
  // `router` says that a probe of this path and hop ended there.
  void on_answer(uint16_t path, uint8_t hop, const RouterAddress& router);
  // The peer has acknowledged a probe with this hop limit.
  void on_arrived(uint8_t hop);

  bool done() const { return done_; }
  uint16_t paths() const { return paths_; }
  size_t bytes_held() const {
    return sizeof(*this) + routers_.capacity() * sizeof(RouterAddress) +
           seen_.capacity() * sizeof(uint16_t);
  }
  // What it found; once it is done.
  FabricWays ways() const;

 private:
  static constexpr uint16_t kSilent = UINT16_MAX;

  uint16_t& seen(uint16_t path, uint8_t hop) { return seen_[size_t{path} * kMostHops + hop - 1]; }
  uint16_t seen(uint16_t path, uint8_t hop) const {
    return seen_[size_t{path} * kMostHops + hop - 1];
  }
  void begin_hop(Nanos now);
  void begin_round(Nanos now);
  void end_round(Nanos now);
  void finish(events::WaysVerdict verdict);

  uint16_t paths_;
  std::vector<RouterAddress> routers_;
  std::vector<uint16_t> seen_;  // indices into routers_, by path and hop
  Nanos at_;                    // the next probe, or the end of a round
  uint8_t hop_ = 0;             // under way
  uint8_t idle_rounds_ = 0;     // of this hop, without a new answer
  uint16_t answered_ = 0;       // paths that answered at this hop
  uint16_t before_ = 0;         // of these, before this round
  uint16_t cursor_ = 0;         // paths that this round has asked
  uint16_t left_ = 0;           // probes that this round may still send
  uint32_t sent_ = 0;
  bool waited_ = false;  // or waiting: for this round's answers
  bool confirm_due_ = false;
  bool arrived_ = false;  // a probe of this hop: here is the peer
  bool done_ = false;
  events::WaysVerdict verdict_ = events::WaysVerdict::kSilentRouter;
};

// At most `each` paths of every way, the lowest numbers: more entropies find no more ways.
std::vector<uint16_t> some_of_each_way(const FabricWays& ways, uint16_t each);

}  // namespace heddle::transport
