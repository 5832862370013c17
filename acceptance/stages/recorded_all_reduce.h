// Recorded all-reduce: all-reduces over all hosts of the fabric by `heddle bench`, recorded. The
// stage collectives judges their speed, the stage traffic their messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

struct BenchSize {
  uint64_t bytes = 0;
  double time_us = 0;
  double bus_bits_per_s = 0;
  uint64_t wrong = 0;  // values
  std::string algorithm;
};

struct BenchResult {
  std::vector<BenchSize> sizes;  // ascending
  std::string recording;         // its folder
  std::string complaint;         // why there are no sizes
};

// The bus bandwidth that the fabric allows: of a ring over these hosts, payload, in bits/s; 0:
// no limit.
double bus_bound(const Session& session, const std::vector<uint32_t>& hosts);

// Errors: kSystem.
Result<BenchResult> run_recorded_all_reduce(Session& session);

}  // namespace heddle::acceptance
