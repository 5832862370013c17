// SharedPlan: the plan in a file as the engines of an endpoint follow it: watched and read once for
// all of them. Each engine's PlanFollower asks it, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/own_mutex.h"
#include "engine/plan_reader.h"
#include "engine/route_plan.h"

namespace heddle::engine {

class SharedPlan {
 public:
  // Reads the file.
  explicit SharedPlan(const std::string& file);

  const std::string& file() const { return file_; }
  // The latest plan that could be read; null: there was none.
  std::shared_ptr<const RoutePlan> plan();
  // Rises with each plan that replaced the one before.
  uint32_t number() const { return number_.load(std::memory_order_acquire); }

  // Begins to read the file again, on a thread of its own, if the watch has noticed a change.
  void watch();
  // The same without the watch: if the file is not what was read last.
  void look();
  // Whether it is being read: then take() is to be called again.
  bool reading() const { return reading_.load(std::memory_order_relaxed); }
  // Takes what was read; what cannot be read leaves the plan as it is.
  void take();

 private:
  const std::string file_;
  std::atomic<uint32_t> number_ = 0;
  std::atomic<bool> reading_ = false;
  OwnMutex mutex_;  // of what follows
  PlanReader reader_;
  std::shared_ptr<const RoutePlan> plan_;
  bool replaced_ = false;  // and not read since
};

}  // namespace heddle::engine
