// SimTrace: a recording of a simulation, a file a rank of a job and a host with flows, which
// heddle's other commands read as they read a real job's: with the simulator's time and the names
// of its hosts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/recording.h"
#include "recordings/folder_claim.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::cli {

class SimTrace {
 public:
  // For the ranks of its jobs, one job after the other, then the hosts that have a part in its
  // flows. Where that fails nothing is left. Errors: kInUse (the folder holds a recording),
  // kExhausted (more files than this process may open), those of Recording::create().
  static Result<std::unique_ptr<SimTrace>> create(const std::string& folder,
                                                  const topology::Topology& topology,
                                                  const topology::Workload& workload);

  // The sink of that host's events; null if it takes no part in flows.
  events::Sink* of(uint32_t host) { return hosts_[host].get(); }
  events::Sink* of_rank(size_t job, uint32_t rank) { return ranks_[job][rank].get(); }
  // Warns of events for which there was no room.
  uint64_t dropped_events() const;

 private:
  SimTrace() = default;
  Result<void> begin(const std::string& folder, const topology::Topology& topology,
                     const topology::Workload& workload, const std::vector<bool>& has_part);
  void take_back();
  Result<std::unique_ptr<events::Recorder>> add(const events::RecordingOptions& options);

  std::optional<recordings::FolderClaim> claim_;
  std::vector<std::shared_ptr<events::Recording>> recordings_;
  std::vector<std::unique_ptr<events::Recorder>> hosts_;
  std::vector<std::vector<std::unique_ptr<events::Recorder>>> ranks_;  // by job
};

}  // namespace heddle::cli
