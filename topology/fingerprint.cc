// See fingerprint.h.
#include "topology/fingerprint.h"

#include <cstdint>

#include "base/hash.h"

namespace heddle::topology {

std::string fingerprint(const Topology& topology) {
  uint64_t hash = 0;
  const auto add = [&hash](uint64_t value) { hash = mix_bits(hash + 0x9e3779b97f4a7c15 + value); };
  for (const Host& each : topology.hosts) add(hash_text(each.name));
  for (const Nic& each : topology.nics) add(each.host);
  for (const Switch& each : topology.switches) {
    add(each.hash_seed);
    add(static_cast<uint64_t>(each.shape.balancing));
  }
  for (const Link& link : topology.links) {
    for (const Node& end : {link.a, link.b}) {
      add(static_cast<uint64_t>(end.kind) << 32 | end.index);
    }
    add(link.shape.rate.count);
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 0xf];
  return digits;
}

}  // namespace heddle::topology
