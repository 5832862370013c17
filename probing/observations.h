// Observations: what probes between NICs measured, as plain data. measure/ sends the probes,
// infer.h makes a fabric of the observations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::probing {

struct ProbedNic {
  std::string host;
  uint32_t number = 0;  // within its host
  std::string address;  // in digits
};

// Packets of a flow whose hop limit ends at one router.
struct HopProbes {
  uint32_t sent = 0;
  uint32_t answered = 0;
  std::string router;     // that answered; empty: none did
  bool varies = false;    // several routers answered: packets of one flow take several routes
  Nanos round_trip_min;   // valid if it was answered
  BitsPerSec train_rate;  // at which answers to a train came; zero: not measured
};

// One entropy of an ordered pair of NICs: packets with equal addresses and ports.
struct FlowKey {
  uint32_t from = 0;  // index of the NIC
  uint32_t to = 0;
  uint16_t source_port = 0;

  auto operator<=>(const FlowKey&) const = default;
};

struct FlowProbes {
  std::vector<HopProbes> hops;  // hop 1 first, as far as was probed
  uint32_t sent = 0;            // with a hop limit that suffices
  uint32_t delivered = 0;
  // Between the two NICs, as the hop limits of packets that arrived say.
  std::optional<uint32_t> routers;
  // By the clocks of both hosts, so that only differences between flows of a pair have meaning.
  std::optional<Nanos> one_way_min;
  std::vector<BitsPerSec> train_rates;  // at which trains arrived
  BitsPerSec train_sent;                // at which the last one left; zero: none was sent

  bool is_dead() const { return sent > 0 && delivered == 0; }
};

struct Observations {
  std::vector<ProbedNic> nics;
  std::map<FlowKey, FlowProbes> flows;
  uint64_t packets = 0;  // that were sent
};

}  // namespace heddle::probing
