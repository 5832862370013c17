// The rows of an AICB workload: one a layer, with a computation and a collective for each pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "topology/htsim/words.h"
#include "topology/job.h"

namespace heddle::topology::aicb {

enum class Group : uint8_t { kTensor, kData, kExpert, kDataOfExperts };
inline constexpr uint32_t kGroups = 4;

struct Pass {
  Nanos span;
  std::optional<CallKind> call;  // nothing: no communication
  Group group = Group::kTensor;
  uint64_t bytes = 0;
};

enum class PassKind : uint8_t { kForward, kInputGradient, kWeightGradient };
inline constexpr uint32_t kPasses = 3;

struct Row {
  std::array<Pass, kPasses> passes;
  uint64_t update_ns = 0;
};

// The number of rows and the rows. Errors: kInvalid with file and line.
Result<std::vector<Row>> read_rows(WordReader& reader);

}  // namespace heddle::topology::aicb
