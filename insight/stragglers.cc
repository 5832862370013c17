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

#include "insight/diagnosis/robust.h"
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

// Pairs as differences from their means. `scale`: of the values; what varies by less than a
// millionth of it does not vary.
double correlation_of(const std::vector<std::pair<double, double>>& pairs, double scale) {
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (const auto& [x, y] : pairs) {
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  const double least = scale * scale * static_cast<double>(pairs.size()) * 1e-12;
  return xx > least && yy > least ? xy / std::sqrt(xx * yy) : 0;
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
  // Of the steps that count.
  uint32_t number(size_t step) const { return numbers_[step]; }
  // Operations in one replay.
  uint64_t replayed() const {
    return uint64_t{steps_.size()} * data_ranks_ * graph_.nodes().size();
  }
  bool has(Operation operation) const {
    const std::vector<PipelineNode>& nodes = graph_.nodes();
    return std::any_of(nodes.begin(), nodes.end(),
                       [=](const PipelineNode& node) { return node.operation == operation; });
  }

 private:
  explicit Job(PipelineGraph graph, uint32_t data_ranks)
      : graph_(std::move(graph)), data_ranks_(data_ranks) {}

  bool add_step(uint32_t step, const std::vector<const PipelineEvent*>& events);
  void measure_even();

  PipelineGraph graph_;
  uint32_t data_ranks_;
  std::vector<uint32_t> numbers_;
  std::vector<std::vector<double>> steps_;  // by data rank and node, s
  std::vector<double> recorded_s_;
  std::array<double, kPipelineOperations> even_{};
};

Unexpected no_whole_step(const Stragglers& found) {
  return fail(ErrorCode::kInvalid, "cannot find stragglers",
              "no step has the operations of all " + std::to_string(found.data_ranks) +
                  " data-parallel ranks",
              "record whole steps of all ranks");
}

Result<void> check(const std::vector<PipelineEvent>& events) {
  for (const PipelineEvent& event : events) {
    const bool sound = std::isfinite(event.start_s) && std::isfinite(event.took_s) &&
                       event.data_rank < params::stragglers::kMostWorkers &&
                       event.stage < params::stragglers::kMostWorkers;
    if (sound) continue;
    return fail(ErrorCode::kInvalid, "cannot find stragglers",
                "an operation of step " + std::to_string(event.step) +
                    " has a rank, a stage or times out of range",
                "see what made the timeline");
  }
  return {};
}

// Of the steps the one whose operations on rank 0 most steps have.
std::vector<PipelineEvent> commonest_step(
    const std::map<uint32_t, std::vector<const PipelineEvent*>>& by_step) {
  std::map<std::vector<PipelineNode>, std::pair<uint32_t, uint32_t>>
      shapes;  // steps, and the first
  for (const auto& [step, all] : by_step) {
    std::vector<PipelineNode> shape;
    for (const PipelineEvent* event : all) {
      if (event->data_rank == 0) shape.push_back({event->stage, event->operation, event->number});
    }
    std::sort(shape.begin(), shape.end());
    const auto [found, added] = shapes.try_emplace(std::move(shape), 0, step);
    ++found->second.first;
  }
  std::pair<uint32_t, size_t> most;  // steps, and operations
  uint32_t chosen = 0;
  for (const auto& [shape, seen] : shapes) {
    const std::pair<uint32_t, size_t> these = {seen.first, shape.size()};
    if (these <= most) continue;
    most = these;
    chosen = seen.second;
  }
  std::vector<PipelineEvent> events;
  for (const PipelineEvent* event : by_step.at(chosen)) {
    if (event->data_rank == 0) events.push_back(*event);
  }
  return events;
}

Result<Job> Job::make(std::vector<PipelineEvent> events, Stragglers& found) {
  if (Result<void> sound = check(events); !sound) return fail(sound.error());
  std::map<uint32_t, std::vector<const PipelineEvent*>> by_step;
  for (const PipelineEvent& event : events) {
    by_step[event.step].push_back(&event);
    found.data_ranks = std::max(found.data_ranks, event.data_rank + 1);
  }
  if (by_step.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers", "there are no operations",
                "give a timeline of a training job");
  }
  const std::vector<PipelineEvent> first = commonest_step(by_step);
  if (first.empty()) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers",
                "most steps have no operations of data-parallel rank 0",
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
  for (const auto& [step, all] : by_step) found.steps_left_out += job.add_step(step, all) ? 0 : 1;
  found.steps = static_cast<uint32_t>(job.steps_.size());
  if (job.steps_.empty()) return no_whole_step(found);
  job.measure_even();
  found.recorded_s = mean_of(job.recorded_s_);
  return job;
}

// False: it has not each operation once on all data ranks.
bool Job::add_step(uint32_t step, const std::vector<const PipelineEvent*>& events) {
  const size_t nodes = graph_.nodes().size();
  if (events.size() != nodes * data_ranks_) return false;
  std::vector<double> took_s(events.size(), -1);
  double begin = events.front()->start_s;
  double end = begin;
  for (const PipelineEvent* event : events) {
    const auto node = graph_.find({event->stage, event->operation, event->number});
    if (!node || took_s[event->data_rank * nodes + *node] >= 0) return false;
    const double took = std::max(event->took_s, 0.0);
    took_s[event->data_rank * nodes + *node] = took;
    begin = std::min(begin, event->start_s);
    end = std::max(end, event->start_s + took);
  }
  numbers_.push_back(step);
  steps_.push_back(std::move(took_s));
  recorded_s_.push_back(end - begin);
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
    even_[i] = computes(static_cast<Operation>(i)) ? mean_of(all[i]) : median(all[i]);
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
  std::vector<std::pair<size_t, size_t>>
      computed;  // forward and backward of a microbatch, by stage
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node].operation != Operation::kForward) continue;
    const auto back = graph_.find({nodes[node].stage, Operation::kBackward, nodes[node].number});
    if (back) computed.emplace_back(node, *back);
  }
  std::vector<std::pair<double, double>> differences;
  double scale = 0;
  for (const std::vector<double>& step : steps_) {
    for (size_t rank = 0; rank < data_ranks_; ++rank) {
      const double* const took = step.data() + rank * nodes.size();
      for (size_t begin = 0; begin < computed.size();) {
        double forward = 0;
        double backward = 0;
        size_t end = begin;
        const uint32_t stage = nodes[computed[begin].first].stage;
        for (; end < computed.size() && nodes[computed[end].first].stage == stage; ++end) {
          forward += took[computed[end].first];
          backward += took[computed[end].second];
        }
        const auto count = static_cast<double>(end - begin);
        scale = std::max({scale, forward / count, backward / count});
        for (; begin < end; ++begin) {
          differences.emplace_back(took[computed[begin].first] - forward / count,
                                   took[computed[begin].second] - backward / count);
        }
      }
    }
  }
  return correlation_of(differences, scale);
}

// Of all workers the slowest ones: at least one.
std::set<std::pair<uint32_t, uint32_t>> slowest_of(Stragglers& found) {
  const size_t count = (found.workers.size() * params::stragglers::kSlowestPercent + 99) / 100;
  found.slowest_workers = static_cast<uint32_t>(count);
  std::set<std::pair<uint32_t, uint32_t>> slowest;
  for (size_t i = 0; i < count; ++i)
    slowest.emplace(found.workers[i].data_rank, found.workers[i].stage);
  return slowest;
}

void find_causes(Stragglers& found) {
  if (!found.is_slow()) return;
  const bool last_stage =
      found.stages > 1 && found.last_stage_share >= params::stragglers::kExplains;
  // Of one data-parallel rank the last stage is a worker, too: its work is looked at first.
  const bool is_last_stage =
      found.data_ranks == 1 && last_stage && found.workers.front().stage + 1 == found.stages;
  if (found.slowest_workers < found.workers.size() && !is_last_stage &&
      found.slowest_workers_share >= params::stragglers::kExplains)
    found.causes.push_back(StragglerCause::kWorkers);
  if (last_stage) found.causes.push_back(StragglerCause::kLastStage);
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

namespace {

Job::Keeps all_but(const Job::Keeps& others) {
  return [others](uint32_t rank, const PipelineNode& node) { return !others(rank, node); };
}

void score(Job& job, Stragglers& found) {
  const auto slowdown_of = [&](const Job::Keeps& keeps) {
    return job.mean_with(keeps) / found.even_s;
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
    if (!job.has(operation)) continue;
    found.by_operation[i] = slowdown_of(
        [&](uint32_t, const PipelineNode& node) { return node.operation == operation; });
  }
  const uint64_t workers = uint64_t{found.data_ranks} * found.stages;
  const bool each = workers * job.replayed() <= params::stragglers::kMostReplayed;
  for (uint32_t rank = 0; rank < found.data_ranks; ++rank) {
    for (uint32_t stage = 0; stage < found.stages; ++stage) {
      const double slowdown = each ? slowdown_of([&](uint32_t at, const PipelineNode& node) {
        return at == rank && node.stage == stage;
      })
                                   : std::min(found.by_data_rank[rank], found.by_stage[stage]);
      found.workers.push_back({rank, stage, slowdown});
    }
  }
  std::stable_sort(
      found.workers.begin(), found.workers.end(),
      [](const WorkerSlowdown& a, const WorkerSlowdown& b) { return a.slowdown > b.slowdown; });
}

// What goes away of the slowdown.
void share(Job& job, Stragglers& found) {
  const double lost = found.measured_s - found.even_s;
  if (lost < found.even_s * 1e-9) return;
  const auto share_of = [&](const Job::Keeps& evened) {
    return (found.measured_s - job.mean_with(all_but(evened))) / lost;
  };
  const auto slowest = slowest_of(found);
  found.slowest_workers_share = share_of([&](uint32_t rank, const PipelineNode& node) {
    return slowest.count({rank, node.stage}) > 0;
  });
  if (found.stages == 1) return;
  found.last_stage_share =
      share_of([&](uint32_t, const PipelineNode& node) { return node.stage + 1 == found.stages; });
}

}  // namespace

Result<Stragglers> find_stragglers(std::vector<PipelineEvent> events) {
  Stragglers found;
  Result<Job> job = Job::make(std::move(events), found);
  if (!job) return fail(job.error());
  const uint64_t replays = uint64_t{found.stages} + found.data_ranks + kPipelineOperations + 4;
  if (replays * job->replayed() > params::stragglers::kMostReplayed) {
    return fail(ErrorCode::kExhausted, "cannot find stragglers",
                "these are too many operations of too many stages and ranks", "give fewer steps");
  }
  const std::vector<double> measured =
      job->replay([](uint32_t, const PipelineNode&) { return true; });
  const std::vector<double> even = job->replay([](uint32_t, const PipelineNode&) { return false; });
  found.measured_s = mean_of(measured);
  found.even_s = mean_of(even);
  if (found.even_s <= 0) {
    return fail(ErrorCode::kInvalid, "cannot find stragglers",
                "computations and most communication take no time",
                "give a timeline with durations");
  }
  for (size_t i = 0; i < measured.size(); ++i)
    found.by_step.push_back({job->number(i), measured[i] / even[i]});
  found.slowdown = found.measured_s / found.even_s;
  score(*job, found);
  share(*job, found);
  found.length_correlation = job->length_correlation();
  find_causes(found);
  return found;
}

}  // namespace heddle::insight
