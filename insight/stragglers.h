// Stragglers of a pipelined training job: how much shorter its steps were if all operations of a
// kind took equally long, and whose operations make them longer: a worker's, a stage's, a kind's.
// Each question is answered by a replay of all steps with some durations replaced, in which each
// operation waits for those that it depends on.
// After Lin and others, "Understanding Stragglers in Large Model Training Using What-if Analysis",
// OSDI 2025.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle::insight {

enum class PipelineOperation : uint8_t {
  kForward,
  kBackward,
  kForwardSend,
  kForwardReceive,
  kBackwardSend,
  kBackwardReceive,
  kGatherParameters,
  kReduceGradients,
  kReduceSeparateGradients,  // where gradients are reduced while others are computed
  kReduceLayerNorms,
  kReduceEmbeddings,
  kCollectGarbage,
  kClipGradients,
  kOptimizer,
};
inline constexpr size_t kPipelineOperations = 14;

// The name in timelines: "forward-compute".
std::string_view name_of(PipelineOperation operation);
std::optional<PipelineOperation> pipeline_operation(std::string_view name);
// Whether it is computation. The others are communication, of which the transfer alone counts: from
// when the last participant was there.
bool computes(PipelineOperation operation);

// One operation of one worker. A worker is a stage of a data-parallel rank.
struct PipelineEvent {
  uint32_t step = 0;
  uint32_t data_rank = 0;
  uint32_t stage = 0;
  PipelineOperation operation = PipelineOperation::kForward;
  uint32_t number = 0;  // among its kind in this step of this worker: the microbatch
  double start_s = 0;
  double took_s = 0;  // of communication: the transfer alone; less than 0 counts as 0
};

// Ratios of step times: 1.2 is a fifth longer than `even`.
struct WorkerSlowdown {
  uint32_t data_rank = 0;
  uint32_t stage = 0;
  double slowdown = 1;  // where all other workers are even
};

struct StepSlowdown {
  uint32_t step = 0;
  double slowdown = 1;
};

enum class StragglerCause : uint8_t { kWorkers, kLastStage, kSequenceLengths };

struct Stragglers {
  uint32_t steps = 0;
  uint32_t steps_left_out = 0;  // incomplete, or with other operations than most
  uint32_t data_ranks = 0;
  uint32_t stages = 0;
  uint32_t microbatches = 0;
  // Means over steps. Recorded: from the first start to the last end. Replayed as measured; what
  // is between operations, such as loading data, is not in it. Even: each computation takes the
  // mean of its kind, and each communication the median.
  double recorded_s = 0;
  double measured_s = 0;
  double even_s = 0;
  double slowdown = 1;
  std::vector<StepSlowdown> by_step;
  // The slowdown if only these are as measured and all others are even.
  std::vector<double> by_stage;
  std::vector<double> by_data_rank;
  std::array<std::optional<double>, kPipelineOperations> by_operation{};  // that occur
  // The slowest first. In a job of very many workers the lesser of its rank's and its stage's.
  std::vector<WorkerSlowdown> workers;
  // The part of the slowdown that goes away if only these become even: above 1 where what they are
  // now hides something else.
  double slowest_workers_share = 0;
  double last_stage_share = 0;
  uint32_t slowest_workers = 0;  // how many of `workers` that is
  // Of a microbatch's forward and backward time, as differences from the mean of its worker and
  // step: near 1 where sequences differ in length.
  double length_correlation = 0;
  std::vector<StragglerCause> causes;  // none: nothing is slow, or none explains it

  // A tenth longer than even, or more.
  bool is_slow() const;
};

// In any order. Errors: kInvalid (no pipeline that this knows: what is missing), kExhausted (too
// much to replay).
Result<Stragglers> find_stragglers(std::vector<PipelineEvent> events);

}  // namespace heddle::insight
