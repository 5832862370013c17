// Which durations are replaced for each question, and what the answers say: see stragglers.h.
#include "insight/stragglers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "insight/stragglers/params.h"
#include "insight/stragglers/pipeline_graph.h"

namespace heddle::insight {

using Operation = PipelineOperation;

namespace {

constexpr std::array<std::string_view, kPipelineOperations> kNames = {"forward-compute",
                                                                      "backward-compute",
                                                                      "forward-send",
                                                                      "forward-recv",
                                                                      "backward-send",
                                                                      "backward-recv",
                                                                      "params-all-gather",
                                                                      "grads-reduce-scatter",
                                                                      "separate-grads-all-reduce",
                                                                      "layernorm-grads-all-reduce",
                                                                      "embedding-grads-all-reduce",
                                                                      "gc",
                                                                      "optimizer-clip-main-grad",
                                                                      "optimizer"};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// 0 where one of them does not vary.
double correlation_of(const std::vector<std::pair<double, double>>& pairs) {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (const auto& [x, y] : pairs) {
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// The events of a job as durations by step, data rank and node of its graph.
class Job {
 public:
  static Result<Job> make(std::vector<PipelineEvent> events, Stragglers& found);

  // Whether an operation of this rank keeps the duration that was measured.
  using Keeps = std::function<bool(uint32_t data_rank, const PipelineNode& node)>;
  // Step times where the other operations are even.
  std::vector<double> replay(const Keeps& keeps);
  double mean_with(const Keeps& keeps) { return mean_of(replay(keeps)); }

  double length_correlation() const;
  bool has(Operation operation) const {
    const std::vector<PipelineNode>& nodes = graph_.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [=](const PipelineNode& node) { return node.operation == operation; });
  }

 private:
  explicit Job(PipelineGraph graph, uint32_t data_ranks)
      : graph_(std::move(graph)), data_ranks_(data_ranks) {}

  bool add_step(const std::vector<const PipelineEvent*>& events);
  void measure_even();

  PipelineGraph graph_;
  uint32_t data_ranks_;
  std::vector<std::vector<double>> steps_;  // by data rank and node, s
  std::array<double, kPipelineOperations> even_{};
};

Unexpected no_whole_step(const Stragglers& found) {
  return fail(ErrorCode::kInvalid, "cannot find stragglers",
              "no step has the operations of all " + std::to_string(found.data_ranks) +
                  " data-parallel ranks",
              "record whole steps of all ranks");
}

Result<Job> Job::make(std::vector<PipelineEvent> events, Stragglers& found) {
  std::map<uint32_t, std::vector<const PipelineEvent*>> by_step;
  for (const PipelineEvent& event : events) {
    by_step[event.step].push_back(&event);
    found.data_ranks = std::max(found.data_ranks, event.data_rank + 1);
  }
  if (by_step.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers", "there are no operations",
                "give a timeline of a training job");
  }
  std::vector<PipelineEvent> first;
  for (const PipelineEvent* event : by_step.begin()->second) {
    if (event->data_rank == 0) first.push_back(*event);
  }
  if (first.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers",
                "there are no operations of data-parallel rank 0 in the first step",
                "record all ranks, numbered from 0");
  }
  // Before anything is as large as a rank's number says.
  if (uint64_t{found.data_ranks} * first.size() > events.size()) return no_whole_step(found);
  Result<PipelineGraph> graph = PipelineGraph::make(first, found.data_ranks);
  if (!graph) return fail(graph.error());
  found.stages = graph->stages();
  Job job(*std::move(graph), found.data_ranks);
  for (const PipelineNode& node : job.graph_.nodes())
    found.microbatches += node.stage == 0 && node.operation == Operation::kForward ? 1 : 0;
  for (const auto& [step, all] : by_step) found.steps_left_out += job.add_step(all) ? 0 : 1;
  found.steps = static_cast<uint32_t>(job.steps_.size());
  if (job.steps_.empty()) return no_whole_step(found);
  job.measure_even();
  return job;
}

// False: it has not each operation once on all data ranks.
bool Job::add_step(const std::vector<const PipelineEvent*>& events) {
  const size_t nodes = graph_.nodes().size();
  if (events.size() != nodes * data_ranks_) return false;
  std::vector<double> took_s(events.size(), -1);
  for (const PipelineEvent* event : events) {
    const auto node = graph_.find({event->stage, event->operation, event->number});
    if (!node || took_s[event->data_rank * nodes + *node] >= 0) return false;
    took_s[event->data_rank * nodes + *node] = std::max(event->took_s, 0.0);
  }
  steps_.push_back(std::move(took_s));
  return true;
}

// Communication has long tails that are no property of its kind, so its median counts.
void Job::measure_even() {
  const std::vector<PipelineNode>& nodes = graph_.nodes();
  std::array<std::vector<double>, kPipelineOperations> all;
  for (const std::vector<double>& step : steps_) {
    for (size_t i = 0; i < step.size(); ++i)
      all[static_cast<size_t>(nodes[i % nodes.size()].operation)].push_back(step[i]);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].empty()) continue;
    even_[i] = computes(static_cast<Operation>(i)) ? mean_of(all[i]) : median_of(all[i]);
  }
}

std::vector<double> Job::replay(const Keeps& keeps) {
  const std::vector<PipelineNode>& nodes = graph_.nodes();
  std::vector<bool> kept;
  for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
    for (const PipelineNode& node : nodes) kept.push_back(keeps(rank, node));
  }
  std::vector<double> took_s(kept.size());
  std::vector<double> ends;
  for (const std::vector<double>& step : steps_) {
    for (size_t i = 0; i < took_s.size(); ++i) {
      const auto operation = static_cast<size_t>(nodes[i % nodes.size()].operation);
      took_s[i] = kept[i] ? step[i] : even_[operation];
    }
    ends.push_back(graph_.replay(took_s));
  }
  return ends;
}

double Job::length_correlation() const {
  const std::vector<PipelineNode>& nodes = graph_.nodes();
  std::vector<std::pair<double, double>> deviations;
  for (uint32_t rank = 0; rank < data_ranks_; ++rank) {
    for (uint32_t stage = 0; stage < graph_.stages(); ++stage) {
      std::vector<std::pair<double, double>> took;
      for (size_t node = 0; node < nodes.size(); ++node) {
        if (nodes[node].stage != stage || nodes[node].operation != Operation::kForward) continue;
        const auto back = graph_.find({stage, Operation::kBackward, nodes[node].number});
        if (!back) continue;
        for (const std::vector<double>& step : steps_)
          took.emplace_back(step[rank * nodes.size() + node], step[rank * nodes.size() + *back]);
      }
      double forward = 0;
      double backward = 0;
      for (const auto& [x, y] : took) forward += x, backward += y;
      const auto count = static_cast<double>(took.size());
      for (const auto& [x, y] : took)
        deviations.emplace_back(x - forward / count, y - backward / count);
    }
  }
  return correlation_of(deviations);
}

// Of all workers the slowest ones: at least one.
std::set<std::pair<uint32_t, uint32_t>> slowest_of(Stragglers& found) {
  const auto percent = static_cast<size_t>(params::stragglers::kSlowestPercent);
  const size_t count = (found.workers.size() * percent + 99) / 100;
  found.slowest_workers = static_cast<uint32_t>(count);
  std::set<std::pair<uint32_t, uint32_t>> slowest;
  for (size_t i = 0; i < count; ++i)
    slowest.emplace(found.workers[i].data_rank, found.workers[i].stage);
  return slowest;
}

void find_causes(Stragglers& found) {
  if (!found.is_slow()) return;
  if (found.slowest_workers_share >= params::stragglers::kExplains)
    found.causes.push_back(StragglerCause::kWorkers);
  if (found.stages > 1 && found.last_stage_share >= params::stragglers::kExplains)
    found.causes.push_back(StragglerCause::kLastStage);
  if (found.length_correlation >= params::stragglers::kLengthsCorrelate)
    found.causes.push_back(StragglerCause::kSequenceLengths);
}

}  // namespace

std::string_view name_of(PipelineOperation operation) {
  return kNames[static_cast<size_t>(operation)];
}

std::optional<PipelineOperation> pipeline_operation(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<PipelineOperation>(found - kNames.begin());
}

bool computes(PipelineOperation operation) {
  return operation == Operation::kForward || operation == Operation::kBackward ||
         operation == Operation::kCollectGarbage || operation == Operation::kOptimizer;
}

bool Stragglers::is_slow() const { return slowdown >= params::stragglers::kSlowFrom; }

Result<Stragglers> find_stragglers(std::vector<PipelineEvent> events) {
  Stragglers found;
  Result<Job> job = Job::make(std::move(events), found);
  if (!job) return fail(job.error());
  const std::vector<double> measured =
      job->replay([](uint32_t, const PipelineNode&) { return true; });
  const std::vector<double> even = job->replay([](uint32_t, const PipelineNode&) { return false; });
  found.measured_s = mean_of(measured);
  found.even_s = mean_of(even);
  if (found.even_s <= 0) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers", "all operations take no time",
                "give a timeline with durations");
  }
  for (size_t i = 0; i < measured.size(); ++i) found.by_step.push_back(measured[i] / even[i]);
  found.slowdown = found.measured_s / found.even_s;
  const auto slowdown_of = [&](const Job::Keeps& keeps) {
    return job->mean_with(keeps) / found.even_s;
  };
  for (uint32_t stage = 0; stage < found.stages; ++stage) {
    found.by_stage.push_back(
        slowdown_of([&](uint32_t, const PipelineNode& node) { return node.stage == stage; }));
  }
  for (uint32_t rank = 0; rank < found.data_ranks; ++rank) {
    found.by_data_rank.push_back(
        slowdown_of([&](uint32_t at, const PipelineNode&) { return at == rank; }));
  }
  for (size_t i = 0; i < kPipelineOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (!job->has(operation)) continue;
    found.by_operation[i] = slowdown_of(
        [&](uint32_t, const PipelineNode& node) { return node.operation == operation; });
  }
  for (uint32_t rank = 0; rank < found.data_ranks; ++rank) {
    for (uint32_t stage = 0; stage < found.stages; ++stage) {
      const double slowdown = slowdown_of(
          [&](uint32_t at, const PipelineNode& node) { return at == rank && node.stage == stage; });
      found.workers.push_back({rank, stage, slowdown});
    }
  }
  std::stable_sort(
      found.workers.begin(), found.workers.end(),
      [](const WorkerSlowdown& a, const WorkerSlowdown& b) { return a.slowdown > b.slowdown; });
  const double lost = found.measured_s - found.even_s;
  const auto share_of = [&](const Job::Keeps& keeps) {
    return lost > 0 ? (found.measured_s - job->mean_with(keeps)) / lost : 0;
  };
  const auto slowest = slowest_of(found);
  found.slowest_workers_share = share_of([&](uint32_t rank, const PipelineNode& node) {
    return slowest.count({rank, node.stage}) == 0;
  });
  found.last_stage_share =
      share_of([&](uint32_t, const PipelineNode& node) { return node.stage + 1 != found.stages; });
  found.length_correlation = job->length_correlation();
  find_causes(found);
  return found;
}

}  // namespace heddle::insight
