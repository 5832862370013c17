// Recordings of simulated hosts and ranks: see trace.h.
#include "apps/cli/sim/trace.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "apps/cli/sim/params.h"
#include "base/printable.h"
#include "recordings/contents.h"

namespace heddle::cli {
namespace {

Unexpected refuse(ErrorCode code, const std::string& folder, const std::string& why,
                  const std::string& todo) {
  return fail(code, "cannot record in " + folder, why, todo);
}

// Two runs in one folder would be read as one job.
Result<void> check_empty(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != recordings::kRecordingSuffix) continue;
    return refuse(ErrorCode::kInUse, folder, "it holds a recording", "choose another folder");
  }
  return {};
}

Result<void> allow_files(const std::string& folder, uint64_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = files + params::sim::kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  if (limit.rlim_cur == wanted && setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return refuse(ErrorCode::kExhausted, folder,
                fmt::format("hosts and ranks need {} files, and this process may open {}", files,
                            limit.rlim_max),
                "allow more open files (ulimit -Hn)");
}

std::vector<bool> hosts_with_a_part(const topology::Topology& topology,
                                    const topology::Workload& workload) {
  std::vector<bool> has_part(topology.hosts.size());
  for (const topology::Flow& flow : workload.flows) {
    has_part[flow.from] = has_part[flow.to] = true;
  }
  return has_part;
}

uint64_t files_of(const topology::Workload& workload, const std::vector<bool>& has_part) {
  auto files = static_cast<uint64_t>(std::count(has_part.begin(), has_part.end(), true));
  for (const topology::Job& job : workload.jobs) files += job.ranks.size();
  return files;
}

events::RecordingOptions recording_of(const std::string& folder, const std::string& host,
                                      uint32_t rank, const std::string& job) {
  events::RecordingOptions options{.directory = folder, .most = params::sim::kMostOfAProcess};
  options.identity = {{"host", host},
                      {"rank", std::to_string(rank)},
                      {"clock", "simulated"},
                      {"command", "heddle sim" + (job.empty() ? "" : ", job " + printable(job))}};
  return options;
}

}  // namespace

Result<std::unique_ptr<SimTrace>> SimTrace::create(const std::string& folder,
                                                   const topology::Topology& topology,
                                                   const topology::Workload& workload) {
  Result<recordings::FolderClaim> claim = recordings::FolderClaim::of(folder);
  if (!claim) return fail(claim.error());
  if (Result<void> empty = check_empty(folder); !empty) return fail(empty.error());
  const std::vector<bool> has_part = hosts_with_a_part(topology, workload);
  if (Result<void> allowed = allow_files(folder, files_of(workload, has_part)); !allowed) {
    return fail(allowed.error());
  }
  std::unique_ptr<SimTrace> made(new SimTrace);
  made->claim_.emplace(std::move(*claim));
  if (Result<void> begun = made->begin(folder, topology, workload, has_part); !begun) {
    made->take_back();
    return fail(begun.error());
  }
  return made;
}

Result<void> SimTrace::begin(const std::string& folder, const topology::Topology& topology,
                             const topology::Workload& workload,
                             const std::vector<bool>& has_part) {
  uint32_t first = 0;  // rank of what follows
  for (const topology::Job& job : workload.jobs) {
    ranks_.emplace_back();
    for (const topology::JobRank& rank : job.ranks) {
      auto recorder = add(recording_of(folder, topology.hosts[rank.host].name, first++, job.name));
      if (!recorder) return fail(recorder.error());
      ranks_.back().push_back(std::move(*recorder));
    }
  }
  hosts_.resize(topology.hosts.size());
  for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
    if (!has_part[host]) continue;
    auto recorder = add(recording_of(folder, topology.hosts[host].name, first + host, ""));
    if (!recorder) return fail(recorder.error());
    hosts_[host] = std::move(*recorder);
  }
  return {};
}

// Half a job's recordings say nothing, and are in the way of the next try.
void SimTrace::take_back() {
  std::vector<std::string> paths;
  for (const auto& recording : recordings_) paths.push_back(recording->path());
  ranks_.clear();
  hosts_.clear();
  recordings_.clear();
  std::error_code ignored;
  for (const std::string& path : paths) std::filesystem::remove(path, ignored);
}

Result<std::unique_ptr<events::Recorder>> SimTrace::add(const events::RecordingOptions& options) {
  auto recording = events::Recording::create(options);
  if (!recording) return fail(recording.error());
  recordings_.push_back(std::move(*recording));
  return recordings_.back()->add_writer();
}

uint64_t SimTrace::dropped_events() const {
  uint64_t sum = 0;
  for (const auto& recording : recordings_) sum += recording->dropped_events();
  return sum;
}

}  // namespace heddle::cli
