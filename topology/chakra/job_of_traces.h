// JobOfTraces: makes a job of one trace for each rank: nodes become actions with labels, process
// groups become communicators.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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
  uint32_t node = 0;  // index in the trace
};

class JobOfTraces {
 public:
  // Both must outlive it. traces[i] is rank i's.
  JobOfTraces(const std::vector<Trace>& traces, const ProcessGroups& groups)
      : traces_(traces), groups_(groups) {}
  // Call once. Errors: kInvalid with file, node and advice.
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

  Result<void> add_rank(const Trace& trace);
  Result<Action> action_of(const Trace& trace, const Node& node);
  Result<Action> collective_of(const Trace& trace, const Node& node);
  Result<Action> message_of(const Trace& trace, const Node& node);
  Result<void> take_algorithm(const Trace& trace, const Node& node, Action& action) const;
  // Where the group's communicator is among those of its ranks; the first call adds it.
  uint32_t communicator(const std::string& group, const std::vector<uint32_t>& members);
  Result<void> check_calls() const;
  Result<void> check_messages() const;
  void add_notes();
  void count(Counted what, uint64_t number = 1) { counts_[static_cast<size_t>(what)] += number; }

  const std::vector<Trace>& traces_;
  const ProcessGroups& groups_;
  ForeignJob made_;
  std::vector<std::string> names_;  // of communicators, by a rank's index
  std::map<std::pair<std::string, std::vector<uint32_t>>, uint32_t> communicators_;
  std::vector<std::vector<CalledNode>> called_;  // by rank, in the order of its program
  std::array<uint64_t, kCounted> counts_{};
};

}  // namespace heddle::topology::chakra
