// Recorded all-reduce: all-reduces over all hosts of the fabric by `heddle bench`, recorded. The
// stage collectives judges their speed, the stage traffic their messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/session.h"
#include "base/result.h"

namespace heddle::acceptance {

struct BenchTimes {
  double time_us = 0;
  double algorithm_bits_per_s = 0;
  double bus_bits_per_s = 0;
  std::optional<uint64_t> wrong;  // values; none: not checked
};

struct BenchSize {
  uint64_t bytes = 0;
  uint64_t count = 0;     // of elements
  std::string type;       // "float"
  std::string operation;  // "sum"
  std::string root;       // "-1": the call has none
  // Out of place.
  double time_us = 0;
  double algorithm_bits_per_s = 0;
  double bus_bits_per_s = 0;
  std::optional<uint64_t> wrong_out_of_place;  // values; none: not checked
  std::optional<BenchTimes> in_place;          // none: not measured
  uint64_t wrong = 0;                          // of both
  std::string algorithm;
};

// The highest rate of each host's port meanwhile, as sent, with all headers.
struct HostRates {
  double least_bits_per_s = 0;
  double most_bits_per_s = 0;
  double share = 0;  // most of a port's rate; 0: no port's rate is known
};

struct BenchResult {
  std::vector<BenchSize> sizes;  // ascending
  HostRates wire;
  std::string recording;  // its folder
  std::string complaint;  // why there are no sizes
};

// For the data of a stage. What was not measured or checked is null.
Json json_of(const BenchSize& size);

// Of a document of `heddle bench --json`. Throws Json::exception.
std::vector<BenchSize> sizes_of(const Json& document);

// The bus bandwidth that the fabric allows: of a ring over these hosts, payload, in bits/s; 0:
// no limit.
double bus_bound(const Session& session, const std::vector<uint32_t>& hosts);

// From one size of all-reduces to the next, of heddle's and of NCCL's.
uint64_t call_factor(const Session& session);

// Errors: kSystem.
Result<BenchResult> run_recorded_all_reduce(Session& session);

}  // namespace heddle::acceptance
