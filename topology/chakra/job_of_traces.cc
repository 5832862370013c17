// See job_of_traces.h; matching.cc compares what ranks call.
#include "topology/chakra/job_of_traces.h"

#include <algorithm>

#include "topology/jobs/action_text.h"
#include "topology/params.h"

namespace heddle::topology::chakra {
namespace {

constexpr const char* kCpuLane = "cpu";
constexpr const char* kJoinLane = "join";
constexpr uint32_t kJoins = 2;  // its place

// Collectives in the order of the schema's CollectiveCommType.
constexpr std::array<CallKind, 10> kCalls = {
    CallKind::kAllReduce,     CallKind::kReduce,    CallKind::kAllGather, CallKind::kGather,
    CallKind::kScatter,       CallKind::kBroadcast, CallKind::kAllToAll,  CallKind::kReduceScatter,
    CallKind::kReduceScatter, CallKind::kBarrier};

std::string place_of(const Node& node) {
  return "node " + std::to_string(node.id) + " (" + std::string(name_of(node.type)) + ")";
}

// What takes no time does not wait until its GPU or CPU is idle.
Action computation(Nanos span, const Node& node) {
  const uint32_t lane = node.cpu ? 1 : 0;
  return {.kind = ActionKind::kCompute, .lane = span == Nanos{} ? kJoins : lane, .span = span};
}

// A communicator's name in workload files, where it is one: see TableReader::name().
std::string file_name_of(const std::string& group, size_t place) {
  if (group.empty()) return "world";
  const bool plain = std::all_of(group.begin(), group.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '-' || each == '_';
  });
  if (plain && group.size() <= 12) return "pg_" + group;
  return "group" + std::to_string(place);
}

}  // namespace

JobOfTraces::JobOfTraces(uint32_t ranks, const ProcessGroups& groups)
    : groups_(groups), files_(ranks), called_(ranks) {
  Job& job = made_.job;
  job.name = "chakra";
  job.kind = "program";
  job.ranks.resize(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) job.ranks[rank].host = rank;
}

Result<ForeignJob> JobOfTraces::make() {
  Job& job = made_.job;
  if (job.communicators.empty()) {
    return fail(ErrorCode::kInvalid, "cannot make a job of these traces",
                "they have no communication between ranks",
                "trace a job that has COMM_COLL, COMM_SEND or COMM_RECV nodes");
  }
  for (JobRank& rank : job.ranks) rank.communicators.resize(names_.size(), JobRank::kNone);
  if (Result<void> same = check_calls(); !same) return fail(same.error());
  if (Result<void> meet = check_messages(); !meet) return fail(meet.error());
  add_notes();
  return std::move(made_);
}

Result<void> JobOfTraces::add(const Trace& trace) {
  files_[trace.rank] = trace.file;
  joined_.clear();
  static const Node kNothing;
  const Result<NodeOrder> order = order_of(trace);
  if (!order) return fail(order.error());
  if (order->labels > params::jobs::kMaxLabels) {
    return fail(ErrorCode::kExhausted, "cannot make a job of " + trace.file,
                "others wait for " + std::to_string(order->labels) +
                    " of its nodes at a time, and 65,536 are the most",
                "use fewer iterations");
  }
  count(Counted::kMissing, order->missing);
  count(Counted::kFreed, order->freed);
  Program program;
  program.lanes.emplace_back(kCpuLane);
  program.lanes.emplace_back(kJoinLane);
  for (uint32_t i = 0; i < order->labels; ++i) program.labels.push_back("n" + std::to_string(i));
  for (const OrderedNode& each : order->nodes) {
    const bool joins = each.node == OrderedNode::kJoin;
    const Node& node = joins ? kNothing : trace.nodes[each.node];
    Result<Action> action = joins ? computation({}, node) : action_of(trace, node);
    if (!action) return fail(action.error());
    action->label = each.label;
    action->after = each.after;
    if (action->kind == ActionKind::kCall) {
      called_[trace.rank].push_back({*action, node.id, node.tag.value_or(0)});
    }
    program.actions.push_back(std::move(*action));
  }
  auto& programs = made_.job.programs;
  const auto same = std::find(programs.begin(), programs.end(), program);
  made_.job.ranks[trace.rank].program = static_cast<uint32_t>(same - programs.begin());
  if (same == programs.end()) programs.push_back(std::move(program));
  return {};
}

Result<Action> JobOfTraces::action_of(const Trace& trace, const Node& node) {
  if (node.duration_us > params::chakra::kMostNodeMicros ||
      node.duration_ns.value_or(0) > params::chakra::kMostNodeMicros * 1000) {
    return wrong(trace.file, place_of(node), "it takes longer than a day",
                 "durations are microseconds");
  }
  const Nanos recorded{static_cast<int64_t>(node.duration_ns.value_or(node.duration_us * 1000))};
  const bool communicates = node.type >= NodeType::kSend;
  if (communicates && node.cpu) count(Counted::kOnCpu);
  if (communicates && !node.cpu) {
    return node.type == NodeType::kCollective ? collective_of(trace, node)
                                              : message_of(trace, node);
  }
  if (node.type == NodeType::kMemoryLoad || node.type == NodeType::kMemoryStore) {
    count(Counted::kMemory);
  }
  const bool computes = node.type == NodeType::kCompute;
  if (computes && recorded == Nanos{} && node.operations.value_or(0) > 0) count(Counted::kNoTime);
  if (node.type == NodeType::kMetadata || node.type == NodeType::kInvalid) {
    return computation({}, node);
  }
  return computation(recorded, node);
}

Result<Action> JobOfTraces::collective_of(const Trace& trace, const Node& node) {
  const auto type = static_cast<uint64_t>(node.comm_type.value_or(-1));
  if (type >= kCalls.size()) {
    return wrong(trace.file, place_of(node),
                 node.comm_type ? "there is no comm_type " + std::to_string(*node.comm_type)
                                : "it has no comm_type",
                 "give the attribute a value of CollectiveCommType, 0 (ALL_REDUCE) to 9");
  }
  if (node.some_dimensions) count(Counted::kDimensions);
  const std::vector<uint32_t>* const members = groups_.ranks_of(node.group, trace.rank);
  if (members == nullptr) {
    return wrong(
        trace.file, place_of(node),
        "the ranks of its process group \"" + node.group.substr(0, 60) + "\" are not known",
        "put a comm_groups.json beside the traces, like {\"" + node.group.substr(0, 60) +
            "\": [0, 1]}");
  }
  const bool joined = joined_.contains(members);
  if (!joined && std::find(members->begin(), members->end(), trace.rank) == members->end()) {
    return wrong(trace.file, place_of(node),
                 "its process group \"" + node.group.substr(0, 60) + "\" does not have rank " +
                     std::to_string(trace.rank),
                 "correct the group");
  }
  const CallKind kind = kCalls[type];
  const int64_t size = node.comm_size ? *node.comm_size : node.tensor_bytes.value_or(0);
  // The input of a rank, of which blocks are gathered.
  const bool gathers = kind == CallKind::kAllGather || kind == CallKind::kGather;
  const uint64_t times = gathers ? members->size() : 1;
  if (size < 0 || static_cast<uint64_t>(size) > kMaxCallBytes / times) {
    return wrong(trace.file, place_of(node),
                 "its comm_size is " + std::to_string(size) + " bytes on " +
                     std::to_string(members->size()) + " ranks",
                 "a collective has up to 64 GiB in all");
  }
  if (members->size() == 1 || (size == 0 && kind != CallKind::kBarrier)) {
    count(members->size() == 1 ? Counted::kAlone : Counted::kNoBytes);
    return computation({}, node);
  }
  Action action{.kind = ActionKind::kCall,
                .call = kind,
                .communicator = communicator(node.group, *members),
                .bytes = kind == CallKind::kBarrier ? 0 : static_cast<uint64_t>(size) * times};
  if (Result<void> taken = take_algorithm(trace, node, action); !taken) return fail(taken.error());
  return action;
}

Result<void> JobOfTraces::take_algorithm(const Trace& trace, const Node& node,
                                         Action& action) const {
  const Job& job = made_.job;
  const uint32_t slot = job.ranks[trace.rank].communicators[action.communicator];
  const auto ranks = static_cast<uint32_t>(job.communicators[slot].ranks.size());
  if (has_root(action.call) && node.root) {
    if (*node.root < 0 || *node.root >= ranks) {
      return wrong(trace.file, place_of(node),
                   "its root is " + std::to_string(*node.root) + " of " + std::to_string(ranks),
                   "ranks of a group count from 0");
    }
    action.root = static_cast<uint32_t>(*node.root);
  }
  if (node.algorithm.empty()) return {};
  action.algorithm = algorithm_named(node.algorithm);
  if (action.algorithm && has_algorithm(action.call, action.algorithm->algorithm)) return {};
  return wrong(trace.file, place_of(node),
               std::string(kAlgorithm) + " is none of " + std::string(name_of(action.call)),
               "leave the attribute out, or choose from " + algorithms_of(action.call));
}

Result<Action> JobOfTraces::message_of(const Trace& trace, const Node& node) {
  const bool sends = node.type == NodeType::kSend;
  const auto& own = sends ? node.source : node.destination;
  const auto& peer = sends ? node.destination : node.source;
  const char* const name = sends ? kCommDestination : kCommSource;
  if (!peer || *peer < 0 || static_cast<uint64_t>(*peer) >= files_.size()) {
    return wrong(trace.file, place_of(node),
                 peer ? std::string(name) + " is " + std::to_string(*peer) + ", and there are " +
                            std::to_string(files_.size()) + " ranks"
                      : "it has no " + std::string(name),
                 "give the attribute the number of the other rank");
  }
  if (*peer == trace.rank || (own && *own != trace.rank)) {
    return wrong(trace.file, place_of(node), "it is not between this rank and another one",
                 "correct comm_src and comm_dst");
  }
  const int64_t size = node.comm_size ? *node.comm_size : node.tensor_bytes.value_or(0);
  if (size < 1 || static_cast<uint64_t>(size) > kMaxCallBytes) {
    return wrong(trace.file, place_of(node), "its comm_size is " + std::to_string(size),
                 "a message has 1 byte to 64 GiB");
  }
  if (node.tag.value_or(0) != 0) count(Counted::kTags);
  return Action{.kind = ActionKind::kCall,
                .call = sends ? CallKind::kSend : CallKind::kReceive,
                .communicator = communicator("", *groups_.ranks_of("", trace.rank)),
                .root = static_cast<uint32_t>(*peer),
                .bytes = static_cast<uint64_t>(size)};
}

uint32_t JobOfTraces::communicator(const std::string& group, const std::vector<uint32_t>& members) {
  const auto joined = joined_.find(&members);
  if (joined != joined_.end()) return joined->second;
  return joined_[&members] = add_communicator(group, members);
}

uint32_t JobOfTraces::add_communicator(const std::string& group,
                                       const std::vector<uint32_t>& members) {
  Job& job = made_.job;
  const auto [known, is_new] =
      communicators_.try_emplace({group, members}, static_cast<uint32_t>(job.communicators.size()));
  const auto place_named = [this](const std::string& name) {
    return static_cast<uint32_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  };
  if (!is_new) return place_named(job.communicators[known->second].name);
  std::string name = file_name_of(group, names_.size());
  uint32_t place = place_named(name);
  const bool taken = std::any_of(members.begin(), members.end(), [&](uint32_t member) {
    const std::vector<uint32_t>& slots = job.ranks[member].communicators;
    return place < slots.size() && slots[place] != JobRank::kNone;
  });
  // Ranks contradict each other about the group's members: check_calls() reports what follows.
  if (taken) name = "group" + std::to_string(names_.size());
  if (taken) place = static_cast<uint32_t>(names_.size());
  if (place == names_.size()) names_.push_back(name);
  for (const uint32_t member : members) {
    std::vector<uint32_t>& slots = job.ranks[member].communicators;
    if (place >= slots.size()) slots.resize(place + 1, JobRank::kNone);
    slots[place] = known->second;
  }
  job.communicators.push_back({std::move(name), members});
  return place;
}

void JobOfTraces::add_notes() {
  constexpr std::array<const char*, kCounted> kTexts = {
      "memory nodes take the time that the trace has for them",
      "computations have a number of operations and no duration, and take no time",
      "communication nodes of the CPU are computations: the GPU's node communicates",
      "collectives use some dimensions of a network (involved_dim), and are on their whole group",
      "collectives of 0 bytes are left out",
      "collectives of one rank are left out",
      "messages have tags: they meet in the order of each pair of ranks",
      "dependencies are on nodes that are not in the trace, and count as met",
      "nodes depend on sends, and wait for what those wait for: heddle's sends end at the "
      "receiver"};
  for (size_t i = 0; i < kCounted; ++i) {
    if (counts_[i] > 0) made_.notes.push_back(std::to_string(counts_[i]) + " " + kTexts[i]);
  }
}

}  // namespace heddle::topology::chakra
