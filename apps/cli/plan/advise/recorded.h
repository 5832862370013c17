// What `heddle plan advise` begins with: the steps of a recorded job, the fabric, and the hosts
// that its ranks are on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "insight/job_replay.h"
#include "planner/recorded_steps.h"
#include "topology/topology.h"

namespace heddle::cli {

struct AdviseSources {
  std::vector<std::string> recordings;  // files or folders
  std::string topology;                 // a file; empty: one switch
  std::string rate;                     // without a topology: of the hosts' links
  std::vector<std::string> hosts;       // of the ranks, in order; empty: as recorded
  uint64_t calls_per_step = 0;          // 0: as marked, or found
};

struct RecordedSetting {
  topology::Topology topology;
  std::string topology_text;     // empty: the file's
  bool fabric_known = true;      // false: one switch is assumed
  planner::RecordedSteps steps;  // ranks are on their hosts of the topology
  std::vector<uint32_t> hosts;   // by rank
  std::vector<std::string> notes;
  bool whole = true;  // false: some of the recording could not be read
};

// When each rank came to each of its actions.
std::vector<planner::RankTrail> trails_of(const insight::JobReplay& replay);

// Errors: those of the files; kInvalid for a topology that lacks the hosts, several ranks on one
// host, a recording without steps.
Result<RecordedSetting> read_setting(const AdviseSources& sources);

}  // namespace heddle::cli
