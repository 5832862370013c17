// PipelineGraph: the operations of one training step on all stages of one data-parallel rank, what
// each waits for, and a replay of the step with any durations. All data-parallel ranks and steps of
// a job have the same graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "insight/stragglers.h"

namespace heddle::insight {

// One operation of the graph.
struct PipelineNode {
  uint32_t stage = 0;
  PipelineOperation operation = PipelineOperation::kForward;
  uint32_t number = 0;

  auto operator<=>(const PipelineNode&) const = default;
};

class PipelineGraph {
 public:
  // From the events of one step and data rank, each operation once. Errors: kInvalid.
  static Result<PipelineGraph> make(std::span<const PipelineEvent> events, uint32_t data_ranks);

  // Sorted.
  const std::vector<PipelineNode>& nodes() const { return nodes_; }
  std::optional<size_t> find(const PipelineNode& node) const;
  uint32_t stages() const { return stages_; }

  // When the last operation ends, in seconds from the step's start. `took_s`: by data rank and
  // node.
  double replay(std::span<const double> took_s);

 private:
  class Builder;

  // What happens next: an operation starts, one ends, or those that meet end.
  struct Action {
    enum class Kind : uint8_t { kStart, kEnd, kMeet };
    Kind kind = Kind::kStart;
    size_t index = 0;  // of the node, or of the meeting
  };
  // Operations that end once all have started. In step: on all data ranks at once.
  struct Meeting {
    std::vector<size_t> nodes;
    bool of_data_ranks = false;
  };

  Result<void> order();
  void start(size_t node);
  void meet(const Meeting& meeting, std::span<const double> took_s);

  uint32_t data_ranks_ = 1;
  uint32_t stages_ = 0;
  std::vector<PipelineNode> nodes_;
  std::vector<std::vector<size_t>> waits_for_;  // by node
  std::vector<Meeting> meetings_;
  std::vector<std::optional<size_t>> meeting_of_;  // by node
  std::vector<Action> actions_;
  // Of the replay, by data rank and node.
  std::vector<double> start_s_;
  std::vector<double> end_s_;
};

}  // namespace heddle::insight
