// See recorded.h.
#include "apps/cli/plan/advise/recorded.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apps/cli/workload/recorded_job.h"
#include "base/printable.h"
#include "planner/job_changes.h"
#include "topology/file.h"

namespace heddle::cli {
namespace {

// A name for each rank: those given, or the recorded ones.
Result<std::vector<std::string>> names_of(const AdviseSources& sources,
                                          const insight::JobReplay& replay) {
  const size_t ranks = replay.job.ranks.size();
  if (sources.hosts.empty()) return replay.hosts;
  if (sources.hosts.size() == ranks) return sources.hosts;
  return fail(
      ErrorCode::kInvalid, "cannot place the ranks",
      fmt::format("--hosts names {} hosts, and the job has {} ranks", sources.hosts.size(), ranks),
      "name one host of the topology for each rank, in the order of the ranks");
}

Result<std::vector<uint32_t>> hosts_of(const std::vector<std::string>& names,
                                       const topology::Topology& topology) {
  std::map<std::string, uint32_t> numbers;
  for (uint32_t i = 0; i < topology.hosts.size(); ++i) numbers[topology.hosts[i].name] = i;
  std::vector<uint32_t> hosts;
  std::set<uint32_t> used;
  for (size_t rank = 0; rank < names.size(); ++rank) {
    const auto found = numbers.find(names[rank]);
    if (found == numbers.end()) {
      return fail(ErrorCode::kInvalid, "cannot place the ranks",
                  fmt::format("rank {} was on '{}', which is no host of the topology", rank,
                              printable(names[rank])),
                  "give the topology of the fabric that the job ran on, or name the hosts of its "
                  "ranks with --hosts");
    }
    if (!used.insert(found->second).second) {
      return fail(ErrorCode::kInvalid, "cannot place the ranks",
                  fmt::format("two ranks are on '{}', and the simulator has one rank of a job on a "
                              "host",
                              printable(names[rank])),
                  "name another host of the topology for each rank with --hosts");
    }
    hosts.push_back(found->second);
  }
  return hosts;
}

// One switch with a host for each rank.
std::string switch_text(size_t hosts, const std::string& rate) {
  return fmt::format(
      "version = {}\n[fabric]\nkind = \"leaf_spine\"\nleaves = 1\nspines = 1\nhosts_per_leaf = {}\n"
      "[host_link]\nrate = \"{}\"\n",
      topology::kTopologyFileVersion, hosts, rate);
}

Result<void> find_fabric(const AdviseSources& sources, const insight::JobReplay& replay,
                         RecordedSetting& setting) {
  if (!sources.topology.empty()) {
    Result<topology::Topology> topology = topology::read_topology_file(sources.topology);
    if (!topology) return fail(topology.error());
    setting.topology = std::move(*topology);
    const auto names = names_of(sources, replay);
    if (!names) return fail(names.error());
    Result<std::vector<uint32_t>> hosts = hosts_of(*names, setting.topology);
    if (!hosts) return fail(hosts.error());
    setting.hosts = std::move(*hosts);
    return {};
  }
  setting.fabric_known = false;
  setting.topology_text = switch_text(replay.job.ranks.size(), sources.rate);
  Result<topology::Topology> topology =
      topology::parse_topology(setting.topology_text, "the assumed switch");
  if (!topology) return fail(topology.error());
  setting.topology = std::move(*topology);
  for (uint32_t i = 0; i < replay.job.ranks.size(); ++i) setting.hosts.push_back(i);
  setting.notes.push_back(fmt::format(
      "no --topology: one switch with links of {} is assumed, a rank on each host", sources.rate));
  return {};
}

}  // namespace

std::vector<planner::RankTrail> trails_of(const insight::JobReplay& replay) {
  std::vector<planner::RankTrail> trails;
  for (const insight::RecordedTimes& times : replay.times) {
    planner::RankTrail trail{.at = times.at, .steps = {}, .ended = times.ended};
    for (const insight::RecordedTimes::Step& step : times.steps) {
      trail.steps.push_back({step.action, step.at, step.before});
    }
    trails.push_back(std::move(trail));
  }
  return trails;
}

Result<RecordedSetting> read_setting(const AdviseSources& sources) {
  Result<RecordedJob> recorded = read_recorded_job(sources.recordings);
  if (!recorded) return fail(std::move(recorded).error());
  RecordedSetting setting;
  setting.whole = recorded->whole;
  setting.notes = recorded->replay.notes;
  if (Result<void> found = find_fabric(sources, recorded->replay, setting); !found) {
    return fail(found.error());
  }
  Result<planner::RecordedSteps> steps =
      planner::cut_steps(recorded->replay.job, trails_of(recorded->replay), sources.calls_per_step);
  if (!steps) return fail(std::move(steps).error());
  setting.steps = std::move(*steps);
  for (topology::Job& job : setting.steps.jobs) {
    job = planner::placed(std::move(job), setting.hosts);
    if (Result<void> valid = topology::validate(job, setting.topology); !valid) {
      return fail(valid.error());
    }
  }
  if (!setting.steps.marked) {
    setting.notes.push_back(
        "the program marks no steps: the shortest sequence of calls that repeats counts as one");
  }
  return setting;
}

}  // namespace heddle::cli
