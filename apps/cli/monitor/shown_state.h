// What the server of `heddle monitor` shows, of the last look.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/json.h"
#include "apps/cli/monitor/gpu_watch.h"
#include "metrics/exposition.h"
#include "monitor/documents.h"

namespace heddle::cli {

inline std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// By any thread.
class ShownState {
 public:
  void set(monitor::WatchDocument document) {
    const std::scoped_lock lock(mutex_);
    document_ = std::move(document);
  }
  void set(std::vector<metrics::Family> of_steering) {
    const std::scoped_lock lock(mutex_);
    of_steering_ = std::move(of_steering);
  }
  void set_plan(Json plan) {
    const std::scoped_lock lock(mutex_);
    plan_ = std::move(plan);
  }
  // Before the server has begun.
  void set(const GpuWatch* gpus) { gpus_ = gpus; }
  std::vector<metrics::Family> families() const {
    const std::scoped_lock lock(mutex_);
    std::vector<metrics::Family> all = monitor::families_of(document_);
    all.insert(all.end(), of_steering_.begin(), of_steering_.end());
    if (gpus_ == nullptr) return all;
    const std::vector<metrics::Family> of_gpus = gpus_->families();
    all.insert(all.end(), of_gpus.begin(), of_gpus.end());
    return all;
  }
  std::string state() const {
    const std::scoped_lock lock(mutex_);
    Json all = monitor::json_of(document_);
    if (gpus_ != nullptr) all.update(gpus_->state());
    if (!plan_.is_null()) all["plan"] = plan_;
    return dumped(all) + "\n";
  }

 private:
  mutable std::mutex mutex_;
  monitor::WatchDocument document_;
  std::vector<metrics::Family> of_steering_;
  Json plan_;                       // null: none is served
  const GpuWatch* gpus_ = nullptr;  // null: they are not read
};

}  // namespace heddle::cli
