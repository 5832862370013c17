// Variations of a sweep: which options take which values, all their combinations, and which of
// these are whose share. Pure, so that tests read it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace heddle::cli {

// An option of `heddle sim`, without its dashes, and what it is given in turn.
struct Variation {
  std::string name;
  std::vector<std::string> values;
};

// "paths=1,16,128", "seed=1..10", "seed=1,5..7". Errors: kInvalid.
Result<Variation> parse_variation(std::string_view text);

// What one run is given: each name with one of its values.
using Choice = std::vector<std::pair<std::string, std::string>>;

// All of them; of the last variation the values change fastest. Errors: kInvalid (a name that is
// there twice, more than kMostRuns).
Result<std::vector<Choice>> combinations(const std::vector<Variation>& variations);

// Of several that share the runs: number `index`, from 0, has each `count`-th.
struct Share {
  uint32_t index = 0;
  uint32_t count = 1;
};

// "2/8": the second of eight. "auto": what the launcher's environment says, which `variable` looks
// up: Slurm's job arrays, then its tasks, then Open MPI's ranks. Errors: kInvalid.
using Environment = std::function<std::string(const char*)>;
Result<Share> parse_share(std::string_view text, const Environment& variable);

// As people sort: numbers by what they are worth, before text.
bool natural_less(const std::string& a, const std::string& b);

}  // namespace heddle::cli
