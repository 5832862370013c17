// `heddle monitor --gpus`: the GPUs of this machine, read beside a job's watch, or alone.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "base/nanos.h"
#include "base/result.h"
#include "metrics/exposition.h"
#include "monitor/gpu_reader.h"

namespace heddle::cli {

class GpuWatch {
 public:
  using Warn = std::function<void(const std::string& text)>;

  // `host`: this machine's name, as recordings have it. Errors: kUnavailable (there is no
  // nvidia-smi).
  static Result<std::unique_ptr<GpuWatch>> make(std::string host, Nanos every, Warn warn);

  // To be called often; never waits.
  void poll(Nanos now);
  // By any thread.
  std::vector<metrics::Family> families() const;
  // For the page: "gpus", of the last reading that has ended, and "gpus_complaint", why it is not
  // whole. A figure that is not known is null. By any thread.
  Json state() const;

 private:
  GpuWatch(std::string host, std::string program, Nanos every, Warn warn);

  std::string host_;
  monitor::GpuReader reader_;
  mutable std::mutex mutex_;
  monitor::GpuState state_;  // that is shown
};

struct GpuWatchOptions {
  std::string host;
  std::string address;  // "[ADDRESS:]PORT"
  Nanos every;
};

// Without a job: serves metrics until it is interrupted, and returns the exit status.
int run_gpu_watch(const GpuWatchOptions& options);

}  // namespace heddle::cli
