// Discovery: counts the distinct routes of the fabric between two hosts, by a traceroute over all
// entropies of a connection: routers send ICMP "time exceeded" for packets whose hop limit ends at
// them. A state machine without I/O: poll_probe() returns the probes to send, on_answer() and
// on_arrived() take the replies. It ends with the number of routes, or the reason why that is
// unknown. Driven by extensions/path_discovery.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "transport/fabric_routes.h"
#include "transport/params.h"

namespace heddle::transport {

class Discovery {
 public:
  static constexpr uint8_t kMostHops = params::discovery::kMostHops;
  // A packet on `path` with the hop limit `hop`. `confirms`: it requests an acknowledgement from
  // the peer; on_arrived() must be called when that comes.
  struct Probe {
    uint16_t path = 0;
    uint8_t hop = 0;
    bool confirms = false;
  };

  Discovery(Nanos now, uint16_t paths);

  // False: no probe is due before next_timeout().
  bool poll_probe(Nanos now, Probe& probe);
  Nanos next_timeout() const { return done_ ? Nanos::never() : at_; }
  // `router` reported that a probe of this path and hop expired there.
  void on_answer(uint16_t path, uint8_t hop, const RouterAddress& router);
  // The peer has acknowledged a probe with this hop limit.
  void on_arrived(uint8_t hop);

  bool done() const { return done_; }
  uint16_t paths() const { return paths_; }
  size_t bytes_held() const {
    return sizeof(*this) + routers_.capacity() * sizeof(RouterAddress) +
           seen_.capacity() * sizeof(uint16_t);
  }
  // The result; valid once done().
  FabricRoutes routes() const;

 private:
  static constexpr uint16_t kSilent = UINT16_MAX;

  uint16_t& seen(uint16_t path, uint8_t hop) { return seen_[size_t{path} * kMostHops + hop - 1]; }
  uint16_t seen(uint16_t path, uint8_t hop) const {
    return seen_[size_t{path} * kMostHops + hop - 1];
  }
  void begin_hop(Nanos now);
  void begin_round(Nanos now);
  void end_round(Nanos now);
  void finish(events::RoutesVerdict verdict);

  uint16_t paths_;
  std::vector<RouterAddress> routers_;
  std::vector<uint16_t> seen_;  // indices into routers_, by path and hop
  Nanos at_;                    // time of the next probe, or of the end of a round
  uint8_t hop_ = 0;             // in progress
  uint8_t idle_rounds_ = 0;     // of this hop, without a new answer
  uint16_t answered_ = 0;       // paths that answered at this hop
  uint16_t before_ = 0;         // of these, before this round
  uint16_t cursor_ = 0;         // paths that this round has probed
  uint16_t left_ = 0;           // probes that this round may still send
  uint32_t sent_ = 0;
  bool waited_ = false;  // this round's probes were sent: it waits or waited for replies
  bool confirm_due_ = false;
  bool arrived_ = false;  // the peer acknowledged a probe of this hop
  bool done_ = false;
  events::RoutesVerdict verdict_ = events::RoutesVerdict::kSilentRouter;
};

// The first `each` paths of every route.
std::vector<uint16_t> paths_of_each_route(const FabricRoutes& routes, uint16_t each);

}  // namespace heddle::transport
