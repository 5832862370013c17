// Traffic: the bytes that one GPU sends in a training step, by kind of parallelism, over NVLink and
// through its NIC.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/answer.h"
#include "planner/job_shape.h"
#include "planner/model_shape.h"

namespace heddle::planner {

// How a group's calls move data. `buffer` below is what one call reduces or gathers, on each rank.
enum class MovementKind : uint8_t {
  kAllReduce,     // each rank sends 2 (n - 1) / n of the buffer
  kGather,        // all-gather or reduce-scatter: (n - 1) / n
  kAllToAll,      // (n - 1) / n, each part to another rank
  kPointToPoint,  // the buffer, to the next rank
};

// The calls of one kind that a GPU takes part in, in a step.
struct Movement {
  std::string name;     // "data", "tensor"
  std::string meaning;  // "all-reduce of gradients"
  MovementKind kind = MovementKind::kAllReduce;
  double calls = 0;
  double buffer_bytes = 0;
  std::string buffer_formula;
  std::vector<Term> buffer_terms;
  GroupPlace place;
  std::string source;
};

double nvlink_bytes(const Movement& movement);
double nic_bytes(const Movement& movement);
// Of nic_bytes(), those to the next site, with sites in a ring. Each GPU sends what it has reduced
// within its site: 2 (S - 1) / S of it for an all-reduce among S sites.
double site_bytes(const Movement& movement);

// All movements of a resolved job, for the GPU with most of them.
std::vector<Movement> movements(const ModelShape& model, const JobShape& job);

// With the rate of a GPU's NICs (0: not known) also the time that they take. Errors: kInvalid,
// those of resolve().
Result<Answer> size_traffic(const ModelShape& model, const JobShape& job,
                            double nic_bits_per_s = 0);

}  // namespace heddle::planner
