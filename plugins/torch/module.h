// What the Python module calls: a face without heddle's own headers, since torch's define some of
// the same names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// As ProcessGroupHeddle::create().
c10::intrusive_ptr<BackendBase> create_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                             int size, double timeout_seconds);
// The group of the ranks of `group` that are left, and the rank that each had there. Waits for
// them.
struct ReconfiguredGroup {
  c10::intrusive_ptr<BackendBase> group;
  std::vector<uint32_t> former_ranks;
};
ReconfiguredGroup reconfigure_group(const c10::intrusive_ptr<BackendBase>& group,
                                    double join_within_seconds);
// Ends the calls of the group on all ranks.
void abort_group(const c10::intrusive_ptr<BackendBase>& group);
// Of the group's other ranks: those whose endpoints answered in time, and those that did not, each
// with the reason.
struct PeersThatAnswer {
  std::vector<uint32_t> answered;
  std::map<uint32_t, std::string> silent;
};
PeersThatAnswer peers_that_answer(const c10::intrusive_ptr<BackendBase>& group,
                                  double timeout_seconds);
// Why it has failed; empty: it works.
std::string error_of_group(const c10::intrusive_ptr<BackendBase>& group);
// All process groups say goodbye to the other ranks, and are of no use any more.
void leave_all_groups();
std::string heddle_version();

}  // namespace heddle::pytorch
