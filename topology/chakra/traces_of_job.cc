// See traces_of_job.h.
#include "topology/chakra/traces_of_job.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heddle::topology::chakra {
namespace {

constexpr const char* kSchema = "1.0.0";

// The schema's CollectiveCommType.
int64_t comm_type_of(CallKind kind) {
  switch (kind) {
    case CallKind::kReduce:
      return 1;
    case CallKind::kAllGather:
      return 2;
    case CallKind::kGather:
      return 3;
    case CallKind::kScatter:
      return 4;
    case CallKind::kBroadcast:
      return 5;
    case CallKind::kAllToAll:
    case CallKind::kAllToAllV:
      return 6;
    case CallKind::kReduceScatter:
      return 7;
    case CallKind::kBarrier:
      return 9;
    default:
      return 0;
  }
}

class TraceWriter {
 public:
  TraceWriter(const Job& job, uint32_t rank)
      : job_(job), rank_(job.ranks[rank]), program_(job.programs[rank_.program]) {
    trace_.rank = rank;
    trace_.version = kSchema;
  }

  Trace write() {
    if (job_.start > Nanos{}) block(add({.kind = ActionKind::kCompute, .span = job_.start}));
    for (uint32_t step = 0; step < program_.repeat; ++step) {
      for (const Action& action : program_.actions) take(action);
      // A step ends with its calls.
      take({.kind = ActionKind::kWait, .label = kEveryLabel});
    }
    return std::move(trace_);
  }

 private:
  void take(const Action& action) {
    if (action.kind == ActionKind::kWait) return wait(action.label);
    const uint64_t id = add(action);
    if (action.label == kNoLabel) {
      block(id);
    } else {
      open_[action.label].push_back(id);
    }
  }

  // What follows waits for the node; itself waited for all that was waited for before.
  void block(uint64_t id) {
    awaited_ = {id};
    unchanged_since_ = id;
  }

  void wait(uint32_t label) {
    std::vector<uint64_t> more;
    const auto take_ids = [&more](std::vector<uint64_t>& ids) {
      more.insert(more.end(), ids.begin(), ids.end());
      ids.clear();
    };
    if (label == kEveryLabel) {
      for (auto& [name, ids] : open_) take_ids(ids);
      open_.clear();
    } else if (const auto found = open_.find(label); found != open_.end()) {
      take_ids(found->second);
    }
    if (more.empty()) return;
    // A node of this time waited for all of them.
    if (*std::max_element(more.begin(), more.end()) > unchanged_since_) awaited_.clear();
    awaited_.insert(awaited_.end(), more.begin(), more.end());
    unchanged_since_ = trace_.nodes.size();
  }

  // One node for all that is awaited, or each that follows would list them: a computation of no
  // time, which ASTRA-sim skips.
  void join() {
    Node node;
    node.id = trace_.nodes.size() + 1;
    node.name = "join";
    node.type = NodeType::kCompute;
    node.control = std::move(awaited_);
    block(node.id);
    trace_.nodes.push_back(std::move(node));
  }

  uint64_t add(const Action& action) {
    if (awaited_.size() > 1) join();
    Node node;
    node.id = trace_.nodes.size() + 1;  // JSON leaves 0 out
    node.control = awaited_;
    for (const uint32_t label : action.after) {
      const auto found = open_.find(label);
      if (found != open_.end() && !found->second.empty()) node.data.push_back(found->second.back());
    }
    if (action.kind == ActionKind::kCompute) {
      compute(action, node);
    } else if (between_two(action.call)) {
      message(action, node);
    } else {
      collective(action, node);
    }
    trace_.nodes.push_back(std::move(node));
    return trace_.nodes.back().id;
  }

  void compute(const Action& action, Node& node) const {
    node.type = NodeType::kCompute;
    node.name = "compute";
    node.cpu = program_.lanes[action.lane] == "cpu";
    const auto ns = static_cast<uint64_t>(action.span.count);
    node.duration_us = (ns + 500) / 1000;
    if (ns % 1000 != 0) node.duration_ns = ns;
  }

  const JobCommunicator& communicator(const Action& action) const {
    return job_.communicators[rank_.communicators[action.communicator]];
  }

  void message(const Action& action, Node& node) const {
    const bool sends = action.call == CallKind::kSend;
    node.type = sends ? NodeType::kSend : NodeType::kReceive;
    node.name = name_of(action.call);
    const uint32_t peer = communicator(action).ranks[action.root];
    node.source = sends ? trace_.rank : peer;
    node.destination = sends ? peer : trace_.rank;
    node.tag = 0;
    if (sends) node.blocking = 1;
    node.comm_size = static_cast<int64_t>(action.bytes);
  }

  void collective(const Action& action, Node& node) const {
    const auto ranks = static_cast<int64_t>(communicator(action).ranks.size());
    node.type = NodeType::kCollective;
    node.name = name_of(action.call);
    node.comm_type = comm_type_of(action.call);
    node.comm_size = static_cast<int64_t>(action.bytes);
    if (action.call == CallKind::kAllGather || action.call == CallKind::kGather) {
      node.comm_size = (*node.comm_size + ranks - 1) / ranks;
    }
    if (has_root(action.call)) node.root = action.root;
    if (action.algorithm) node.algorithm = text_of(*action.algorithm);
    node.group = group_name_of(job_, rank_.communicators[action.communicator]);
  }

  const Job& job_;
  const JobRank& rank_;
  const Program& program_;
  Trace trace_;
  std::vector<uint64_t> awaited_;                   // ids
  uint64_t unchanged_since_ = 0;                    // nodes with larger ids wait for all of them
  std::map<uint32_t, std::vector<uint64_t>> open_;  // ids by label, in their order
};

}  // namespace

std::string group_name_of(const Job& job, uint32_t communicator) {
  const std::vector<uint32_t>& ranks = job.communicators[communicator].ranks;
  bool all = ranks.size() == job.ranks.size();
  for (uint32_t i = 0; i < ranks.size() && all; ++i) all = ranks[i] == i;
  return all ? "" : std::to_string(communicator + 1);
}

uint64_t nodes_of(const Job& job, uint32_t rank) {
  const Program& program = job.programs[job.ranks[rank].program];
  return (program.actions.size() + 1) * program.repeat + 1;  // a wait may be a join
}

Trace trace_of(const Job& job, uint32_t rank) { return TraceWriter(job, rank).write(); }

}  // namespace heddle::topology::chakra
