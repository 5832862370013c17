// Job: what the ranks of a job do, as data: they compute, call collectives on communicators and
// wait for those. Ranks that do alike share a program. Workloads hold jobs (workload.h), the files
// say them (workload_file.h), and whoever has communicators runs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "topology/topology.h"

namespace heddle::topology {

// What a call does; numbered as collectives and their events number it.
enum class CallKind : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllV,  // in recordings; a job cannot call it
  kBarrier,
  kSend,
  kReceive,
};
inline constexpr uint32_t kCallKinds = 12;

// How; numbered likewise.
enum class CallAlgorithm : uint8_t {
  kRing,
  kTree,
  kRecursiveDoubling,
  kHalvingDoubling,
  kBinomial,
  kPairwise,
  kBruck,
  kLinear,
  kDissemination,
};
inline constexpr uint32_t kCallAlgorithms = 9;

// "all_reduce", "halving_doubling", as workload files spell them.
std::string_view name_of(CallKind kind);
std::string_view name_of(CallAlgorithm algorithm);
std::optional<CallKind> call_named(std::string_view name);
std::optional<CallAlgorithm> algorithm_named(std::string_view name);
// Whether there is this algorithm for it; messages between two ranks have none to choose.
bool has_algorithm(CallKind kind, CallAlgorithm algorithm);
// "ring, tree": those that there are.
std::string algorithms_of(CallKind kind);
// Whether its data is counted in a block a rank: `bytes` of an action are all of them together.
bool in_blocks(CallKind kind);
bool has_root(CallKind kind);
inline bool between_two(CallKind kind) {
  return kind == CallKind::kSend || kind == CallKind::kReceive;
}

inline constexpr uint32_t kNoLabel = UINT32_MAX;
inline constexpr uint32_t kEveryLabel = UINT32_MAX - 1;
inline constexpr uint64_t kMaxCallBytes = uint64_t{64} << 30;
inline constexpr uint32_t kMaxRanks = 16'384;

enum class ActionKind : uint8_t {
  kCompute,  // for `span`; calls under way go on
  kCall,
  kWait,  // for the calls with that label
};

struct Action {
  ActionKind kind = ActionKind::kCompute;
  CallKind call = CallKind::kBarrier;
  std::optional<CallAlgorithm> algorithm;  // nothing: what the communicator chooses
  uint8_t element_bytes = 1;               // 1, 2, 4 or 8: calls cut data between elements
  uint32_t communicator = 0;               // by its place among those of the rank
  uint32_t root = 0;                       // in the communicator; of send and receive: the other
  uint64_t bytes = 0;  // all data of a rank, or the blocks of all ranks together: in_blocks()
  uint32_t label = kNoLabel;  // of a call: none: it is waited for at once
  Nanos span;

  bool operator==(const Action&) const = default;
};

// What a rank does, so many times one after the other. Each time is a step of the job.
struct Program {
  std::vector<Action> actions;
  uint32_t repeat = 1;
  std::vector<std::string> labels;  // what the files call them

  bool operator==(const Program&) const = default;
};

struct JobCommunicator {
  std::string name;             // those that are one another's counterparts may share it
  std::vector<uint32_t> ranks;  // of the job, in the order of their ranks in it

  bool operator==(const JobCommunicator&) const = default;
};

struct JobRank {
  uint32_t host = 0;
  uint32_t program = 0;
  std::vector<uint32_t> communicators;  // that actions name by their place here; kNone: not of it

  static constexpr uint32_t kNone = UINT32_MAX;
  bool operator==(const JobRank&) const = default;
};

struct Job {
  std::string name;
  std::string kind;  // as the file has it
  Nanos start;       // of the first step, from time 0
  Bytes chunk;       // of what collectives forward or reduce; zero: as communicators have it
  std::vector<JobRank> ranks;
  std::vector<JobCommunicator> communicators;
  std::vector<Program> programs;

  bool operator==(const Job&) const = default;
};

// Errors: kInvalid, naming the first thing that makes no sense: hosts, programs, communicators or
// ranks that are not there, a host with two ranks, calls that cannot be.
Result<void> validate(const Job& job, const Topology& topology);

}  // namespace heddle::topology
