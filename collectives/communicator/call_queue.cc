// CallQueue: see call_queue.h.
#include "collectives/communicator/call_queue.h"

#include <algorithm>
#include <utility>

namespace heddle::collectives {

WaitingCall CallQueue::number(Call call, uint64_t request) {
  const std::optional<Algorithm> asked = call.algorithm;
  const uint64_t number = call.between_two() ? stream_of(made_, call)++ : next_number_++;
  return {std::move(call), number, request, asked};
}

void CallQueue::push(WaitingCall waiting) {
  if (waiting.call.between_two()) {
    messages_.push_back(std::move(waiting));
  } else {
    collectives_.push_back(std::move(waiting));
  }
}

std::optional<WaitingCall> CallQueue::take_message(size_t& at) {
  for (; at < messages_.size(); ++at) {
    WaitingCall& waiting = messages_[at];
    const bool to_itself = waiting.call.root == rank_;
    if (to_itself || stream_of(posted_, waiting.call) != waiting.number) continue;
    std::optional<WaitingCall> taken = std::move(waiting);
    messages_.erase(messages_.begin() + static_cast<int64_t>(at));
    return taken;
  }
  return std::nullopt;
}

std::optional<CallQueue::OwnPair> CallQueue::own_pair() {
  const auto first = [this](Collective collective) {
    return std::find_if(
        messages_.begin(), messages_.end(), [this, collective](const WaitingCall& waiting) {
          return waiting.call.collective == collective && waiting.call.root == rank_;
        });
  };
  const OwnPair pair = {first(Collective::kSend), first(Collective::kReceive)};
  if (pair.send == messages_.end() || pair.receive == messages_.end()) return std::nullopt;
  return pair;
}

void CallQueue::erase(const OwnPair& pair) {
  messages_.erase(std::max(pair.send, pair.receive));
  messages_.erase(std::min(pair.send, pair.receive));
}

}  // namespace heddle::collectives
