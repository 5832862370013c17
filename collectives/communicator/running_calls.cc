// RunningCalls: see running_calls.h.
#include "collectives/communicator/running_calls.h"

#include <algorithm>
#include <utility>

namespace heddle::collectives {

void RunningCall::take(WaitingCall waiting) {
  call = std::move(waiting.call);
  number = waiting.number;
  request = waiting.request;
  busy = true;
  posted = false;
}

RunningCalls::RunningCalls(Resources& resources) : resources_(resources) {
  for (auto& lane : lanes_) lane = std::make_unique<RunningCall>(resources_);
}

RunningCall& RunningCalls::idle_message() {
  const auto idle = std::find_if(messages_.begin(), messages_.end(),
                                 [](const auto& running) { return !running->busy; });
  if (idle != messages_.end()) return **idle;
  messages_.push_back(std::make_unique<RunningCall>(resources_));
  return *messages_.back();
}

uint64_t RunningCalls::oldest_number() const {
  uint64_t oldest = next_collective_;
  for (const auto& lane : lanes_) {
    if (lane->busy) oldest = std::min(oldest, lane->number);
  }
  return oldest;
}

const RunningCall* RunningCalls::oldest() const {
  const RunningCall* oldest = nullptr;
  const auto consider = [&oldest](const std::unique_ptr<RunningCall>& running) {
    if (running->busy && (oldest == nullptr || running->number < oldest->number)) {
      oldest = running.get();
    }
  };
  std::for_each(lanes_.begin(), lanes_.end(), consider);
  if (oldest == nullptr) std::for_each(messages_.begin(), messages_.end(), consider);
  return oldest;
}

}  // namespace heddle::collectives
