// The cost of the profiler in NCCL's threads: a transfer of the proxy with its states, at the
// levels proxy and all, a call with its kernel, and a transfer that is not recorded.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"
#include "plugins/nccl/profiler/tables.h"

namespace heddle::nccl {
namespace {

using profiler_v7::Descriptor;
using profiler_v7::StateArguments;

class Profiled {
 public:
  explicit Profiled(const char* level) {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-bench-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    if (level != nullptr) {
      setenv("HEDDLE_RECORD", folder_.c_str(), 1);
      setenv("HEDDLE_NCCL_PROFILE", level, 1);
    }
    int mask = 0;
    CHECK(kProfilerV7.init(&context_, 1, &mask, "world", 2, 2, 0, nullptr) == kSuccess);
  }
  ~Profiled() {
    if (context_ != nullptr) kProfilerV7.finalize(context_);
    unsetenv("HEDDLE_RECORD");
    std::filesystem::remove_all(folder_);
  }

  void* start(uint64_t type, void* parent) {
    descriptor_.type = type;
    descriptor_.parent = parent;
    void* event = nullptr;
    kProfilerV7.start_event(context_, &event, &descriptor_);
    return event;
  }
  static void state(void* event, profiler::State state, size_t bytes) {
    StateArguments arguments{};
    arguments.step_bytes = bytes;
    kProfilerV7.record_event_state(event, state, &arguments);
  }
  Descriptor& descriptor() { return descriptor_; }

 private:
  std::string folder_;
  void* context_ = nullptr;
  Descriptor descriptor_{};
};

// What NCCL reports of a transfer that waits neither for the GPU nor for the receiver.
void send_step(Profiled& nccl, void* op, int number) {
  nccl.descriptor().proxy_step.step = number;
  void* const step = nccl.start(profiler::kProxyStep, op);
  Profiled::state(step, profiler::kStepSendGpuWait, 0);
  Profiled::state(step, profiler::kStepSendPeerWait, 0);
  Profiled::state(step, profiler::kStepSendWait, 131'072);
  kProfilerV7.stop_event(step);
}

void transfer(benchmark::State& state, const char* level) {
  Profiled nccl(level);
  nccl.descriptor().proxy_op = {getpid(), 0, 1, 1 << 20, 131'072, 1};
  void* const op = nccl.start(profiler::kProxyOp, nullptr);
  int number = 0;
  for (auto _ : state) send_step(nccl, op, number++);
}
BENCHMARK_CAPTURE(transfer, proxy, "proxy");
BENCHMARK_CAPTURE(transfer, all, "all");
BENCHMARK_CAPTURE(transfer, not_recorded, nullptr);

// A step event alone: its start and its stop.
void step_start_stop(benchmark::State& state, const char* level) {
  Profiled nccl(level);
  nccl.descriptor().proxy_op = {getpid(), 0, 1, 1 << 20, 131'072, 1};
  void* const op = nccl.start(profiler::kProxyOp, nullptr);
  for (auto _ : state) kProfilerV7.stop_event(nccl.start(profiler::kProxyStep, op));
}
BENCHMARK_CAPTURE(step_start_stop, proxy, "proxy");
BENCHMARK_CAPTURE(step_start_stop, all, "all");

void call_with_kernel(benchmark::State& state) {
  Profiled nccl("calls");
  for (auto _ : state) {
    nccl.descriptor().coll = {};
    nccl.descriptor().coll.function = "AllReduce";
    nccl.descriptor().coll.data_type = "ncclFloat32";
    nccl.descriptor().coll.algorithm = "RING";
    nccl.descriptor().coll.protocol = "SIMPLE";
    nccl.descriptor().coll.channels = 1;
    void* const call = nccl.start(profiler::kColl, nullptr);
    kProfilerV7.stop_event(call);
    nccl.descriptor().kernel_channel = {};
    kProfilerV7.stop_event(nccl.start(profiler::kKernelChannel, call));
  }
}
BENCHMARK(call_with_kernel);

}  // namespace
}  // namespace heddle::nccl
