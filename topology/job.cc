// Validation of jobs: see job.h.
#include "topology/job.h"

#include <algorithm>
#include <string>

namespace heddle::topology {
namespace {

class JobCheck {
 public:
  JobCheck(const Job& job, const Topology& topology) : job_(job), topology_(topology) {}

  Result<void> all() {
    if (job_.ranks.size() < 2) return wrong("it has fewer than two ranks", "give it more hosts");
    if (job_.ranks.size() > kMaxRanks) {
      return wrong("it has more than " + std::to_string(kMaxRanks) + " ranks", "use fewer hosts");
    }
    if (Result<void> sound = hosts(); !sound) return sound;
    for (const JobCommunicator& communicator : job_.communicators) {
      if (Result<void> sound = members(communicator); !sound) return sound;
    }
    for (uint32_t rank = 0; rank < job_.ranks.size(); ++rank) {
      if (Result<void> sound = program_of(rank); !sound) return sound;
    }
    return {};
  }

 private:
  Unexpected wrong(const std::string& why, const std::string& todo) const {
    return fail(ErrorCode::kInvalid, "the job " + job_.name + " makes no sense", why, todo);
  }
  Unexpected wrong_of(uint32_t rank, const std::string& why, const std::string& todo) const {
    return wrong("rank " + std::to_string(rank) + " " + why, todo);
  }

  Result<void> hosts() const {
    std::vector<uint32_t> taken;
    for (const JobRank& rank : job_.ranks) taken.push_back(rank.host);
    std::sort(taken.begin(), taken.end());
    if (taken.back() >= topology_.hosts.size()) {
      return wrong("it needs host " + std::to_string(taken.back()) + ", and the topology has " +
                       std::to_string(topology_.hosts.size()),
                   "hosts count from 0; use a topology with more of them");
    }
    const auto twice = std::adjacent_find(taken.begin(), taken.end());
    if (twice == taken.end()) return {};
    return wrong("two of its ranks are on " + topology_.hosts[*twice].name,
                 "a rank has a host for itself: name more hosts");
  }

  Result<void> members(const JobCommunicator& communicator) const {
    std::vector<uint32_t> ranks = communicator.ranks;
    std::sort(ranks.begin(), ranks.end());
    if (ranks.empty() || ranks.back() >= job_.ranks.size()) {
      return wrong("the communicator " + communicator.name + " names ranks that it does not have",
                   "ranks count from 0 to " + std::to_string(job_.ranks.size() - 1));
    }
    if (std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end()) return {};
    return wrong("the communicator " + communicator.name + " names a rank twice",
                 "name each rank once");
  }

  Result<void> program_of(uint32_t number) {
    const JobRank& rank = job_.ranks[number];
    if (rank.program >= job_.programs.size()) {
      return wrong_of(number, "has no program", "name it in a program's ranks");
    }
    for (const uint32_t each : rank.communicators) {
      if (each == JobRank::kNone) continue;
      if (each >= job_.communicators.size()) {
        return wrong_of(number, "is of a communicator that is not there", "declare it");
      }
      const auto& ranks = job_.communicators[each].ranks;
      if (std::find(ranks.begin(), ranks.end(), number) == ranks.end()) {
        return wrong_of(number, "is not of " + job_.communicators[each].name, "name it there");
      }
    }
    for (const Action& action : job_.programs[rank.program].actions) {
      if (action.kind != ActionKind::kCall) continue;
      if (Result<void> sound = call(number, action); !sound) return sound;
    }
    return {};
  }

  Result<void> call(uint32_t number, const Action& action) {
    const JobRank& rank = job_.ranks[number];
    const std::string name(name_of(action.call));
    if (action.communicator >= rank.communicators.size() ||
        rank.communicators[action.communicator] == JobRank::kNone) {
      return wrong_of(number, "calls " + name + " on a communicator that it is not of",
                      "name it among the communicator's ranks, or leave it out of the program's");
    }
    const auto& ranks = job_.communicators[rank.communicators[action.communicator]].ranks;
    if (action.root >= ranks.size()) {
      return wrong_of(number, "names rank " + std::to_string(action.root) + " in " + name,
                      "the communicator has " + std::to_string(ranks.size()) + ", counted from 0");
    }
    if (between_two(action.call) && ranks[action.root] == number) {
      return wrong_of(number, "sends to itself", "name another rank");
    }
    if (action.algorithm && !has_algorithm(action.call, action.algorithm->algorithm)) {
      return wrong_of(number, name + " has no " + text_of(*action.algorithm),
                      "choose from " + algorithms_of(action.call));
    }
    if (action.algorithm && action.algorithm->algorithm == CallAlgorithm::kTwoLevel) {
      const uint32_t group = action.algorithm->group_ranks;
      if (group < 2 || group >= ranks.size() || ranks.size() % group != 0) {
        return wrong_of(number,
                        "calls " + name + " by " + text_of(*action.algorithm) +
                            " on a communicator of " + std::to_string(ranks.size()),
                        "give groups of two ranks or more that divide them");
      }
    }
    if (action.call == CallKind::kAllToAllV) {
      return wrong_of(number, "calls " + name, "call all_to_all");
    }
    if (action.bytes > kMaxCallBytes) {
      return wrong_of(number, "calls " + name + " of more than 64 GiB", "use less");
    }
    return {};
  }

  const Job& job_;
  const Topology& topology_;
};

}  // namespace

Result<void> validate(const Job& job, const Topology& topology) {
  return JobCheck(job, topology).all();
}

}  // namespace heddle::topology
