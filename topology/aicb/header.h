// The first line of an AICB workload: the kind of parallelism and the sizes of its groups.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "topology/htsim/words.h"

namespace heddle::topology::aicb {

struct Header {
  bool micro = false;     // collectives of the last pass, all at once
  uint32_t tensor = 1;    // model_parallel_NPU_group
  uint32_t expert = 1;    // ep
  uint32_t pipeline = 1;  // pp
  uint32_t gpus = 0;      // all_gpus; 0: not in the file
  uint64_t pipeline_bytes = 0;
};

// The reader is at the line. Errors: kInvalid with file and line.
Result<Header> read_header(const WordReader& reader);

}  // namespace heddle::topology::aicb
