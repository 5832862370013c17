// See shared_plan.h.
#include "engine/shared_plan.h"

#include <optional>
#include <utility>

#include "base/log.h"

namespace heddle::engine {

SharedPlan::SharedPlan(const std::string& file) : file_(file), reader_(file) {
  Result<RoutePlan> plan = reader_.read();
  if (plan) {
    plan_ = std::make_shared<const RoutePlan>(std::move(*plan));
  } else {
    log_warn("{}; paths are chosen adaptively", plan.error().message());
  }
  if (!reader_.watches()) {
    log_info("plan {}: its folder cannot be watched; it is looked at once a minute", file_);
  }
}

std::shared_ptr<const RoutePlan> SharedPlan::plan() {
  const OwnMutex::Lock lock = mutex_.lock();
  return plan_;
}

void SharedPlan::watch() {
  const OwnMutex::Lock lock = mutex_.lock();
  replaced_ |= reader_.take_change();
  if (!replaced_ || reader_.reading()) return;
  reader_.start();
  replaced_ = !reader_.reading();
  reading_ = reader_.reading();
}

void SharedPlan::look() {
  const OwnMutex::Lock lock = mutex_.lock();
  reader_.start();
  reading_ = reader_.reading();
}

void SharedPlan::take() {
  const OwnMutex::Lock lock = mutex_.lock();
  std::optional<Result<RoutePlan>> read = reader_.take();
  reading_ = reader_.reading();
  if (!read) return;
  if (!*read) {
    log_warn("{}; {}", read->error().message(),
             plan_ ? "the plan from before is followed" : "paths are chosen adaptively");
    return;
  }
  log_info("plan {}: it was replaced, and is read again", file_);
  plan_ = std::make_shared<const RoutePlan>(std::move(**read));
  number_.fetch_add(1, std::memory_order_release);
}

}  // namespace heddle::engine
