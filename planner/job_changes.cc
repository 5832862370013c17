// See job_changes.h.
#include "planner/job_changes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace heddle::planner {
namespace {

using topology::Action;
using topology::ActionKind;
using topology::CallKind;
using topology::Job;
using topology::kNoLabel;

bool is_bucket(const Action& action) {
  return action.kind == ActionKind::kCall && action.call == CallKind::kAllReduce &&
         action.label != kNoLabel && action.bytes >= kLeastGradientBytes;
}

// Which calls of a program become one: of each, the last of its group.
std::map<size_t, size_t> groups_of(const std::vector<Action>& actions, uint32_t buckets) {
  std::vector<size_t> group;
  std::map<size_t, size_t> last_of;
  const auto close = [&] {
    for (const size_t each : group) last_of[each] = group.back();
    group.clear();
  };
  for (size_t i = 0; i < actions.size(); ++i) {
    const Action& action = actions[i];
    if (action.kind == ActionKind::kCompute) continue;
    if (!is_bucket(action)) {
      close();
      continue;
    }
    const bool fits = !group.empty() && actions[group.back()].communicator == action.communicator &&
                      actions[group.back()].element_bytes == action.element_bytes;
    if (!fits || group.size() == buckets) close();
    group.push_back(i);
  }
  close();
  return last_of;
}

void merge(topology::Program& program, uint32_t buckets) {
  const std::map<size_t, size_t> last_of = groups_of(program.actions, buckets);
  std::map<size_t, uint64_t> bytes;
  for (const auto& [call, last] : last_of) bytes[last] += program.actions[call].bytes;
  std::vector<Action> actions;
  std::map<uint32_t, uint32_t> renamed;  // labels of calls that are gone
  for (size_t i = 0; i < program.actions.size(); ++i) {
    Action action = program.actions[i];
    const auto found = last_of.find(i);
    if (found != last_of.end()) {
      renamed.erase(action.label);
      if (found->second != i) {
        renamed[action.label] = program.actions[found->second].label;
        continue;
      }
      action.bytes = bytes[i];
    } else if (action.kind == ActionKind::kWait && renamed.contains(action.label)) {
      action.label = renamed[action.label];
    }
    actions.push_back(std::move(action));
  }
  program.actions = std::move(actions);
}

// In whole elements; the last part has the rest.
uint64_t part_of(const Action& action, uint32_t part, uint32_t parts) {
  const uint64_t elements = action.bytes / action.element_bytes;
  const uint64_t each = elements / parts;
  return (part + 1 < parts ? each : elements - each * (parts - 1)) * action.element_bytes;
}

// An all-reduce that a step waits for at once, as for a bucket that is full at the end of the
// backward pass alone, becomes several that begin during the computation before it.
void split_program(const Job& job, topology::Program& program, uint32_t parts) {
  std::vector<Action> actions;
  for (Action action : program.actions) {
    const bool split = action.call == CallKind::kAllReduce && exchanges_gradients(job, action);
    if (!split || action.bytes / action.element_bytes < parts) {
      actions.push_back(action);
      continue;
    }
    const bool blocks = action.label == kNoLabel;
    if (blocks) {
      action.label = static_cast<uint32_t>(program.labels.size());
      program.labels.push_back("bucket" + std::to_string(action.label));
    }
    Nanos computed;
    if (!actions.empty() && actions.back().kind == ActionKind::kCompute) {
      computed = actions.back().span;
      actions.pop_back();
    }
    for (uint32_t part = 0; part < parts; ++part) {
      const Nanos span = nanos(computed.count / parts);
      if (span > Nanos{}) actions.push_back({.kind = ActionKind::kCompute, .span = span});
      actions.push_back(action);
      actions.back().bytes = part_of(action, part, parts);
    }
    if (blocks) actions.push_back({.kind = ActionKind::kWait, .label = action.label});
  }
  program.actions = std::move(actions);
}

// The gathers of a step, and its computation up to the first exchange between their waits.
std::vector<Action> gathers_first(const std::vector<Action>& gathers,
                                  const std::vector<Action>& until_exchange) {
  std::vector<Action> actions = gathers;
  Nanos computed;
  for (const Action& action : until_exchange) {
    if (action.kind == ActionKind::kCompute) computed += action.span;
  }
  const Nanos each = nanos(computed.count / static_cast<int64_t>(gathers.size()));
  for (const Action& gather : gathers) {
    actions.push_back({.kind = ActionKind::kWait, .label = gather.label});
    if (each > Nanos{}) actions.push_back({.kind = ActionKind::kCompute, .span = each});
  }
  for (const Action& action : until_exchange) {
    if (action.kind != ActionKind::kCompute) actions.push_back(action);
  }
  return actions;
}

void shard(const Job& job, topology::Program& program) {
  std::vector<Action> gathers;
  std::vector<Action> actions;
  std::vector<Action> until_exchange;
  for (Action action : program.actions) {
    const bool exchanges = exchanges_gradients(job, action) && action.call == CallKind::kAllReduce;
    if (exchanges) {
      action.call = CallKind::kReduceScatter;
      action.algorithm.reset();
      Action gather = action;
      gather.call = CallKind::kAllGather;
      gather.label = static_cast<uint32_t>(program.labels.size());
      program.labels.push_back("gather" + std::to_string(gathers.size()));
      gathers.insert(gathers.begin(), gather);
    }
    (gathers.empty() ? until_exchange : actions).push_back(std::move(action));
  }
  if (gathers.empty()) return;
  std::vector<Action> all = gathers_first(gathers, until_exchange);
  all.insert(all.end(), actions.begin(), actions.end());
  program.actions = std::move(all);
}

// A pass whose gradients stay on the rank.
std::vector<Action> without_exchange(const Job& job, const std::vector<Action>& actions) {
  std::vector<Action> kept;
  std::map<uint32_t, uint32_t> open;
  for (const Action& action : actions) {
    if (exchanges_gradients(job, action)) continue;
    if (action.kind == ActionKind::kCall && action.label != kNoLabel) ++open[action.label];
    if (action.kind == ActionKind::kWait) {
      if (open.empty()) continue;
      if (action.label == topology::kEveryLabel) {
        open.clear();
      } else if (open.erase(action.label) == 0) {
        continue;
      }
    }
    kept.push_back(action);
  }
  return kept;
}

bool has_messages(const Job& job) {
  for (const topology::Program& program : job.programs) {
    for (const Action& action : program.actions) {
      if (action.kind == ActionKind::kCall && topology::between_two(action.call)) return true;
    }
  }
  return false;
}

}  // namespace

bool exchanges_gradients(const Job& job, const Action& action) {
  if (action.kind != ActionKind::kCall || action.bytes < kLeastGradientBytes) return false;
  if (action.call != CallKind::kAllReduce && action.call != CallKind::kReduceScatter) return false;
  return action.label != kNoLabel || (job.communicators.size() == 1 && !has_messages(job));
}

Job placed(Job job, const std::vector<uint32_t>& hosts) {
  for (size_t i = 0; i < job.ranks.size(); ++i) job.ranks[i].host = hosts[i];
  return job;
}

Job with_algorithm(Job job, CallKind kind, const topology::AlgorithmChoice& choice) {
  for (topology::Program& program : job.programs) {
    for (Action& action : program.actions) {
      if (action.kind == ActionKind::kCall && action.call == kind) action.algorithm = choice;
    }
  }
  return job;
}

Job merged(Job job, uint32_t buckets) {
  for (topology::Program& program : job.programs) merge(program, buckets);
  return job;
}

Job split(Job job, uint32_t parts) {
  const Job before = job;
  for (topology::Program& program : job.programs) split_program(before, program, parts);
  return job;
}

Job sharded(Job job) {
  const Job before = job;
  for (topology::Program& program : job.programs) shard(before, program);
  return job;
}

Job accumulated(const Job& job, uint32_t passes) {
  Job changed = job;
  for (topology::Program& program : changed.programs) {
    const std::vector<Action> quiet = without_exchange(job, program.actions);
    std::vector<Action> actions;
    for (uint32_t pass = 1; pass < passes; ++pass) {
      actions.insert(actions.end(), quiet.begin(), quiet.end());
    }
    actions.insert(actions.end(), program.actions.begin(), program.actions.end());
    program.actions = std::move(actions);
  }
  return changed;
}

Buckets buckets_of(const Job& job) {
  Buckets most;
  for (const topology::Program& program : job.programs) {
    Buckets here;
    for (const Action& action : program.actions) {
      if (action.call != CallKind::kAllReduce || !exchanges_gradients(job, action)) continue;
      here.count += is_bucket(action) ? 1 : 0;
      here.largest_bytes = std::max(here.largest_bytes, action.bytes);
    }
    if (here.count > most.count || most.largest_bytes == 0) most = here;
  }
  return most;
}

}  // namespace heddle::planner
