// What the Python module calls: a face without heddle's own headers, since torch's define some of
// the same names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// As ProcessGroupHeddle::create().
c10::intrusive_ptr<BackendBase> create_group(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                             int size, double timeout_seconds);
// One that has no members until its reconfigure() gets their handles.
c10::intrusive_ptr<BackendBase> create_group_without_members(int rank, int size,
                                                             double timeout_seconds);
// Another group in the place of one, and the rank that each of its ranks had there.
struct ChangedGroup {
  c10::intrusive_ptr<BackendBase> group;
  std::vector<uint32_t> former_ranks;
};
// Times are in seconds. That of the ranks that are left; waits for them.
ChangedGroup reconfigure_group(const c10::intrusive_ptr<BackendBase>& group, double join_within);
// That with the processes which wait in join_group(), or `group` itself where there are none.
ChangedGroup grow_group(const c10::intrusive_ptr<BackendBase>& group,
                        const c10::intrusive_ptr<c10d::Store>& store, double find_within);
// Of a newcomer: the group that has taken it in.
struct JoinTimes {
  double join = 0;   // until it is taken in
  double find = 0;   // as of grow_group()
  double calls = 0;  // the timeout of the group's calls
};
c10::intrusive_ptr<BackendBase> join_group(const c10::intrusive_ptr<c10d::Store>& store,
                                           const JoinTimes& times,
                                           const std::function<bool()>& stopped);
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
// The number of its communicator, which no other group of the job has.
uint64_t communicator_of_group(const c10::intrusive_ptr<BackendBase>& group);
// All process groups say goodbye to the other ranks, and are of no use any more.
void leave_all_groups();
std::string heddle_version();

}  // namespace heddle::pytorch
