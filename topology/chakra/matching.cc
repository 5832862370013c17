// Whether ranks call the same: of a process group each has the same collectives in the same order,
// and messages have a receiver. See job_of_traces.h.
#include <map>

#include "topology/chakra/job_of_traces.h"

namespace heddle::topology::chakra {
namespace {

constexpr const char* kTodo =
    "trace all ranks over the same iterations; node ids decide where dependencies leave it open";

struct Message {
  const std::string* file = nullptr;
  const CalledNode* call = nullptr;
};

std::string text_of(const std::string& file, const CalledNode& call) {
  return "node " + std::to_string(call.node) + " of " + file + " (" +
         std::string(name_of(call.action.call)) + " of " + std::to_string(call.action.bytes) +
         " bytes)";
}

bool same_call(const Action& a, const Action& b) {
  return a.call == b.call && a.bytes == b.bytes && a.root == b.root && a.algorithm == b.algorithm;
}

}  // namespace

Result<void> JobOfTraces::check_calls() const {
  // By communicator, the calls of the first rank that has it, and the number of others' calls.
  struct Calls {
    const std::string* file = nullptr;
    std::vector<const CalledNode*> calls;
  };
  std::map<uint32_t, std::vector<Calls>> by_communicator;
  const Job& job = made_.job;
  for (uint32_t rank = 0; rank < called_.size(); ++rank) {
    std::map<uint32_t, Calls> own;
    for (const uint32_t slot : job.ranks[rank].communicators) {
      if (slot != JobRank::kNone) own[slot].file = &files_[rank];
    }
    for (const CalledNode& call : called_[rank]) {
      if (between_two(call.action.call)) continue;
      own[job.ranks[rank].communicators[call.action.communicator]].calls.push_back(&call);
    }
    for (auto& [slot, calls] : own) by_communicator[slot].push_back(std::move(calls));
  }
  for (const auto& [slot, ranks] : by_communicator) {
    const Calls& first = ranks.front();
    for (const Calls& other : ranks) {
      const size_t both = std::min(first.calls.size(), other.calls.size());
      for (size_t i = 0; i < both; ++i) {
        if (same_call(first.calls[i]->action, other.calls[i]->action)) continue;
        return wrong(*other.file, "call " + std::to_string(i) + " of its group",
                     text_of(*other.file, *other.calls[i]) + " meets " +
                         text_of(*first.file, *first.calls[i]),
                     kTodo);
      }
      if (first.calls.size() == other.calls.size()) continue;
      return wrong(*other.file, "group " + job.communicators[slot].name,
                   "it has " + std::to_string(other.calls.size()) +
                       " collectives of the group, and " + *first.file + " has " +
                       std::to_string(first.calls.size()),
                   kTodo);
    }
  }
  return {};
}

Result<void> JobOfTraces::check_messages() const {
  struct Pair {
    std::vector<Message> sent;
    std::vector<Message> received;
  };
  std::map<std::pair<uint32_t, uint32_t>, Pair> pairs;
  for (uint32_t rank = 0; rank < called_.size(); ++rank) {
    for (const CalledNode& call : called_[rank]) {
      if (!between_two(call.action.call)) continue;
      const Message message{&files_[rank], &call};
      if (call.action.call == CallKind::kSend) {
        pairs[{rank, call.action.root}].sent.push_back(message);
      } else {
        pairs[{call.action.root, rank}].received.push_back(message);
      }
    }
  }
  const auto place = [](const Message& each) { return "node " + std::to_string(each.call->node); };
  for (const auto& [ranks, pair] : pairs) {
    const size_t both = std::min(pair.sent.size(), pair.received.size());
    for (size_t i = 0; i < both; ++i) {
      const Message& sent = pair.sent[i];
      const Message& received = pair.received[i];
      const bool same = sent.call->tag == received.call->tag;
      if (same && sent.call->action.bytes == received.call->action.bytes) continue;
      return wrong(*received.file, place(received),
                   std::string("it receives a message of another ") + (same ? "size" : "comm_tag") +
                       " than " + place(sent) + " of " + *sent.file + " sends: messages of a " +
                       "pair of ranks meet in their order",
                   "give both the same sizes and tags, in the same order");
    }
    if (pair.sent.size() == pair.received.size()) continue;
    const bool lost = pair.sent.size() > pair.received.size();
    const Message& alone = lost ? pair.sent[both] : pair.received[both];
    return wrong(*alone.file, place(alone),
                 lost ? "rank " + std::to_string(ranks.second) + " does not receive this message"
                      : "rank " + std::to_string(ranks.first) + " does not send this message",
                 "add the node to the other rank's trace");
  }
  return {};
}

}  // namespace heddle::topology::chakra
