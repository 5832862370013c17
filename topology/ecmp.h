// The ECMP hash of simulated switches: a switch chooses among equal-cost links by a hash of the
// packet's NICs and ports with its own seed, as real switches hash addresses and ports. The
// simulator forwards by it, and the planner predicts by it which link an entropy takes.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "base/units.h"
#include "topology/params.h"

namespace heddle::topology {

// The ports that packets of simulated processes carry. Each process of a NIC owns the next range of
// kSourcePorts source ports; path i of a connection takes the i-th of them.
inline constexpr uint16_t kFirstSourcePort = params::kFirstSourcePort;
inline constexpr uint16_t kSourcePorts = params::kSourcePorts;
// The port at which the process of a host's flows receives.
inline constexpr uint16_t kFlowPort = 4791;

struct EcmpKey {
  uint32_t from_nic = 0;
  uint32_t to_nic = 0;
  uint16_t from_port = 0;
  uint16_t to_port = 0;
};

// The index, of `choices` (at least one), that a switch with this seed chooses.
constexpr uint32_t ecmp_choice(uint32_t choices, uint64_t seed, const EcmpKey& key) {
  if (choices == 1) return 0;
  const uint64_t nics = uint64_t{key.from_nic} << 32 | key.to_nic;
  const uint64_t ports = uint64_t{key.from_port} << 16 | key.to_port;
  const uint64_t hash = mix_bits(mix_bits(nics ^ seed) + ports * 0x9e3779b97f4a7c15);
  return static_cast<uint32_t>((static_cast<Uint128>(hash) * choices) >> 64);
}

}  // namespace heddle::topology
