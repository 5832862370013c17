// Expectations: what a fabric must reach to be accepted, as shares of what its links allow, and
// limits. `heddle verify --expect FILE` reads them from TOML; docs/how-to/verify_a_fabric.md has
// the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::acceptance {

struct Expectations {
  double pair_share = 0.70;           // goodput of a pair, of the payload that its links can carry
  double link_share = 0.65;           // highest rate of a link under load, of its rate
  double collective_share = 0.50;     // bus bandwidth of a large collective, of a ring's bound
  double all_to_all_share = 0.50;     // bus bandwidth of an all-to-all, of what the links carry
  double training_share = 0.60;       // speed of a training step, of the formula's
  double incast_share = 0.60;         // goodput into one host from all others, of its link
  uint32_t errors_per_million = 100;  // packets lost or damaged on a link
  uint32_t retransmitted_per_million = 50'000;  // segments of a permutation, of all it sent
  // p99 beside an incast; none: most_bystander_latency() of the queues on its route.
  std::optional<Nanos> victim_latency;
  std::optional<uint32_t> mtu_bytes;  // none: the topology's
  std::optional<uint32_t> routes;     // between leaves; none: as the topology has them
};

// Errors: kInvalid with file and line, kUnavailable.
Result<Expectations> read_expectations(const std::string& path);
// The same from text; `name` is the file's name in errors.
Result<Expectations> parse_expectations(std::string_view text, const std::string& name);

}  // namespace heddle::acceptance
