// Job: the actions of a job's ranks, as data: they compute, call collectives on communicators and
// wait for the calls. Ranks with equal actions share a program. Workloads contain jobs
// (workload.h), files describe them (workload_file.h), and code that owns communicators runs them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "topology/params.h"
#include "topology/topology.h"

namespace heddle::topology {

// The operation of a call. Numbers are those of collectives and their events.
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

// The algorithm of a call. Numbers are those of collectives and their events.
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
  kTwoLevel,  // in events it has another number
};
inline constexpr uint32_t kCallAlgorithms = 10;

struct AlgorithmChoice {
  CallAlgorithm algorithm = CallAlgorithm::kRing;
  uint32_t group_ranks = 0;  // of kTwoLevel: neighbours in one group

  bool operator==(const AlgorithmChoice&) const = default;
};

// "all_reduce", "halving_doubling", "two_level/4", as workload files spell them.
std::string_view name_of(CallKind kind);
std::string_view name_of(CallAlgorithm algorithm);
std::string text_of(const AlgorithmChoice& choice);
std::optional<CallKind> call_named(std::string_view name);
std::optional<AlgorithmChoice> algorithm_named(std::string_view text);
// Whether the operation has this algorithm; messages between two ranks have none.
bool has_algorithm(CallKind kind, CallAlgorithm algorithm);
// The operation's algorithms as text: "ring, tree".
std::string algorithms_of(CallKind kind);
// Whether its data has one block for each rank; then `bytes` of an action is the sum of all blocks.
bool in_blocks(CallKind kind);
bool has_root(CallKind kind);
inline bool between_two(CallKind kind) {
  return kind == CallKind::kSend || kind == CallKind::kReceive;
}

inline constexpr uint32_t kNoLabel = UINT32_MAX;
inline constexpr uint32_t kEveryLabel = UINT32_MAX - 1;
inline constexpr uint64_t kMaxCallBytes = params::jobs::kMaxCallBytes;
inline constexpr uint32_t kMaxRanks = params::jobs::kMaxRanks;

enum class ActionKind : uint8_t {
  kCompute,  // for `span`, while pending calls continue
  kCall,
  kWait,  // for the actions with that label
};

struct Action {
  ActionKind kind = ActionKind::kCompute;
  CallKind call = CallKind::kBarrier;
  std::optional<AlgorithmChoice> algorithm;  // nothing: the communicator chooses
  uint8_t element_bytes = 1;                 // 1, 2, 4 or 8; data is split between elements
  uint32_t communicator = 0;                 // index into the rank's communicators
  uint32_t root = 0;                         // of the communicator; of send and receive: the peer
  uint64_t bytes = 0;  // all data of a rank; with in_blocks(), the blocks of all ranks together
  uint32_t label = kNoLabel;  // kNoLabel: the computation or call blocks
  uint32_t lane = 0;          // of a computation; a lane executes one after the other
  Nanos span;
  // It starts when the newest earlier actions with these labels have ended. It has a label itself.
  std::vector<uint32_t> after = {};

  bool operator==(const Action&) const = default;
};

// The actions of a rank, run `repeat` times in sequence. Each run is a step of the job.
struct Program {
  std::vector<Action> actions;
  uint32_t repeat = 1;
  std::vector<std::string> labels;  // their names in the files
  std::vector<std::string> lanes = {"main"};

  bool operator==(const Program&) const = default;
};

struct JobCommunicator {
  std::string name;             // corresponding communicators of different ranks may share it
  std::vector<uint32_t> ranks;  // of the job, ordered by their rank in the communicator

  bool operator==(const JobCommunicator&) const = default;
};

struct JobRank {
  uint32_t host = 0;
  uint32_t program = 0;
  std::vector<uint32_t> communicators;  // indexed by actions; kNone: the rank is not a member

  static constexpr uint32_t kNone = UINT32_MAX;
  bool operator==(const JobRank&) const = default;
};

struct Job {
  std::string name;
  std::string kind;  // as in the file
  Nanos start;       // of the first step, from time 0
  Bytes chunk;       // chunk size of collectives; zero: the communicators' default
  std::vector<JobRank> ranks;
  std::vector<JobCommunicator> communicators;
  std::vector<Program> programs;

  bool operator==(const Job&) const = default;
};

// Errors: kInvalid for the first contradiction: hosts, programs, communicators or ranks that do not
// exist, a host with two ranks, invalid calls.
Result<void> validate(const Job& job, const Topology& topology);

}  // namespace heddle::topology
