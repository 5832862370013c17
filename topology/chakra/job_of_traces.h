// JobOfTraces: makes a job of one trace for each rank: nodes become actions with labels, process
// groups become communicators.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "topology/chakra/groups.h"
#include "topology/chakra/order.h"
#include "topology/chakra/trace.h"
#include "topology/foreign_job.h"

namespace heddle::topology::chakra {

// A call of the job and the node that it was, to compare what ranks call.
struct CalledNode {
  Action action;
  uint64_t node = 0;  // its id
  int64_t tag = 0;
};

class JobOfTraces {
 public:
  // The groups must outlive it; those of a rank are known before add().
  JobOfTraces(uint32_t ranks, const ProcessGroups& groups);
  // For each rank, from 0. Errors: kInvalid with file, node and advice.
  Result<void> add(const Trace& trace);
  // Call once, after all ranks. Errors: kInvalid for ranks that contradict each other.
  Result<ForeignJob> make();

 private:
  // What is counted for notes.
  enum class Counted : uint8_t {
    kMemory,
    kNoTime,
    kOnCpu,
    kDimensions,
    kNoBytes,
    kAlone,
    kTags,
    kMissing,
    kFreed,
  };
  static constexpr size_t kCounted = 9;

  Result<Action> action_of(const Trace& trace, const Node& node);
  Result<Action> collective_of(const Trace& trace, const Node& node);
  Result<Action> message_of(const Trace& trace, const Node& node);
  Result<void> take_algorithm(const Trace& trace, const Node& node, Action& action) const;
  // Where the group's communicator is among those of its ranks; the first call adds it. `members`
  // are those that `groups_` keeps.
  uint32_t communicator(const std::string& group, const std::vector<uint32_t>& members);
  uint32_t add_communicator(const std::string& group, const std::vector<uint32_t>& members);
  Result<void> check_calls() const;
  Result<void> check_messages() const;
  void add_notes();
  void count(Counted what, uint64_t number = 1) { counts_[static_cast<size_t>(what)] += number; }

  const ProcessGroups& groups_;
  std::vector<std::string> files_;  // by rank
  ForeignJob made_;
  std::vector<std::string> names_;  // of communicators, by a rank's index
  std::map<std::pair<std::string, std::vector<uint32_t>>, uint32_t> communicators_;
  // Places of the communicators that the rank of add() calls, by the list of their ranks.
  std::map<const std::vector<uint32_t>*, uint32_t> joined_;
  std::vector<std::vector<CalledNode>> called_;  // by rank, in the order of its program
  std::array<uint64_t, kCounted> counts_{};
};

}  // namespace heddle::topology::chakra
