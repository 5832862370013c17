// Recordings of simulated hosts: see trace.h.
#include "apps/cli/sim/trace.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "apps/cli/record/contents.h"

namespace heddle::cli {
namespace {

// Of each host; taken as it is needed.
constexpr Bytes kMostOfAHost = mebibytes(64);
constexpr uint64_t kOtherFiles = 64;  // that this process has open

Unexpected refuse(ErrorCode code, const std::string& folder, const std::string& why,
                  const std::string& todo) {
  return fail(code, "cannot record in " + folder, why, todo);
}

// Two runs in one folder would be read as one job.
Result<void> check_empty(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != kRecordingSuffix) continue;
    return refuse(ErrorCode::kInUse, folder, "it holds a recording", "choose another folder");
  }
  return {};
}

Result<void> allow_files(const std::string& folder, uint64_t files) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t wanted = files + kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  if (limit.rlim_cur == wanted && setrlimit(RLIMIT_NOFILE, &limit) == 0) return {};
  return refuse(
      ErrorCode::kExhausted, folder,
      fmt::format("{} hosts need a file each, and this process may open {}", files, limit.rlim_max),
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

}  // namespace

Result<std::unique_ptr<SimTrace>> SimTrace::create(const std::string& folder,
                                                   const topology::Topology& topology,
                                                   const topology::Workload& workload) {
  Result<FolderClaim> claim = FolderClaim::of(folder);
  if (!claim) return fail(claim.error());
  if (Result<void> empty = check_empty(folder); !empty) return fail(empty.error());
  const std::vector<bool> has_part = hosts_with_a_part(topology, workload);
  const auto files = std::count(has_part.begin(), has_part.end(), true);
  if (Result<void> allowed = allow_files(folder, static_cast<uint64_t>(files)); !allowed) {
    return fail(allowed.error());
  }
  std::unique_ptr<SimTrace> made(new SimTrace);
  made->claim_.emplace(std::move(*claim));
  made->recorders_.resize(topology.hosts.size());
  for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
    if (!has_part[host]) continue;
    events::RecordingOptions options{.directory = folder, .most = kMostOfAHost};
    options.identity = {{"host", topology.hosts[host].name},
                        {"rank", std::to_string(host)},
                        {"clock", "simulated"},
                        {"command", "heddle sim"}};
    auto recording = events::Recording::create(options);
    if (!recording) return fail(recording.error());
    made->recorders_[host] = (*recording)->add_writer();
    made->recordings_.push_back(std::move(*recording));
  }
  return made;
}

uint64_t SimTrace::dropped_events() const {
  uint64_t sum = 0;
  for (const auto& recording : recordings_) sum += recording->dropped_events();
  return sum;
}

}  // namespace heddle::cli
