// ProgressBody: the state behind a ProgressThread. Posters hand it tasks; the thread runs them,
// looks at every communicator, and sleeps in the endpoint until something happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/own_mutex.h"
#include "base/result.h"
#include "base/thread.h"
#include "collectives/links.h"
#include "collectives/progress/driven_communicator.h"
#include "collectives/progress/wait_watcher.h"

namespace heddle::collectives {

class ProgressBody {
 public:
  explicit ProgressBody(engine::Endpoint& endpoint);

  // Errors: kExhausted (no thread).
  Result<void> start();
  // Lets all communicators leave and joins the thread.
  void stop();
  bool in_child() const { return mutex_.in_child(); }
  // Whether something keeps the events of waits. Any thread may ask.
  bool wants_waits() const { return wants_waits_; }

  // Runs `task` in the thread, after those that came before. False: it has stopped, or this is a
  // child of fork().
  bool run(std::function<void()> task);
  // The same, and waits until it has run. Not from the thread itself.
  bool run_and_wait(const std::function<void()>& task);

  // From the thread:
  void add(std::shared_ptr<DrivenCommunicator> driven) { driven_.push_back(std::move(driven)); }
  const std::shared_ptr<Links>& links() const { return links_; }

  engine::Endpoint& endpoint_;
  std::atomic<uint64_t> turns_ = 0;
  std::atomic<size_t> communicators_ = 0;
  WaitWatcher wait_watcher_;

 private:
  void loop();
  // Whether there were any.
  bool run_tasks();
  // Looks at all communicators; returns how long nothing is to be done.
  Nanos attend();
  void let_go();

  const bool wants_waits_;
  std::shared_ptr<Links> links_;
  std::vector<std::shared_ptr<DrivenCommunicator>> driven_;
  OwnMutex mutex_;
  std::vector<std::function<void()>> tasks_;  // under mutex_
  bool stopping_ = false;                     // under mutex_
  bool stopped_ = false;                      // under mutex_
  std::vector<std::function<void()>> taken_;
  Thread thread_;
};

}  // namespace heddle::collectives
