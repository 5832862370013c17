// WaitDetector: see wait_detector.h.
#include "collectives/progress/wait_detector.h"

#include <algorithm>
#include <utility>

namespace heddle::collectives {

void WaitDetector::add(ThreadId thread, const AwaitedObject& object,
                       std::shared_ptr<CallState> call) {
  auto watched = std::find_if(watched_.begin(), watched_.end(),
                              [thread](const Watched& each) { return each.thread == thread; });
  if (watched == watched_.end()) {
    watched = watched_.insert(watched_.end(), Watched{.thread = thread});
  }
  watched->object = object;
  auto& running = watched->running;
  if (std::find(running.begin(), running.end(), call) == running.end()) {
    running.push_back(std::move(call));
  }
}

void WaitDetector::sample() {
  for (Watched& each : watched_) sample(each);
  std::erase_if(watched_, [this](const Watched& each) {
    if (!each.running.empty()) return false;
    source_.forget(each.thread);
    return true;
  });
}

void WaitDetector::sample(Watched& watched) {
  std::erase_if(watched.running,
                [](const std::shared_ptr<CallState>& call) { return call->done(); });
  const bool waits = !watched.running.empty() && source_.sleeps_on(watched.thread, watched.object);
  std::shared_ptr<CallState> now = waits ? watched.running.front() : nullptr;
  if (now == watched.awaited) return;
  if (watched.awaited) watched.awaited->end_wait();
  watched.awaited = std::move(now);
  if (watched.awaited) watched.awaited->begin_wait();
}

bool WaitDetector::all_wait() const {
  return std::all_of(watched_.begin(), watched_.end(),
                     [](const Watched& each) { return each.awaited != nullptr; });
}

std::shared_ptr<CallState> WaitDetector::awaited() const {
  for (const Watched& each : watched_) {
    if (each.awaited) return each.awaited;
  }
  return nullptr;
}

}  // namespace heddle::collectives
