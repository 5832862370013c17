// See gpu_watch.h.
#include "apps/cli/monitor/gpu_watch.h"

#include <signal.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/terminal.h"
#include "base/clocks.h"
#include "lab/run.h"
#include "lab/tool.h"
#include "metrics/server.h"

namespace heddle::cli {
namespace {

constexpr const char* kProgram = "nvidia-smi";

Json known(double figure) { return std::isnan(figure) ? Json() : Json(figure); }

Result<int> serve_gpus(const GpuWatchOptions& options) {
  lab::note_signals();
  signal(SIGPIPE, SIG_IGN);  // of a reader that has gone
  Result<std::unique_ptr<GpuWatch>> gpus =
      GpuWatch::make(options.host, options.every, print_warning);
  if (!gpus) return fail(std::move(gpus).error());
  const Result<metrics::ListenAddress> address = metrics::parse_listen_address(options.address);
  if (!address) return fail(address.error());
  const Result<std::unique_ptr<metrics::Server>> server = metrics::Server::listen(*address);
  if (!server) return fail(server.error());
  const Result<void> served = (*server)->serve([&gpus] { return (*gpus)->families(); });
  if (!served) return fail(served.error());
  print_progress("metrics are at " + (*server)->url());
  while (lab::noted_signal() == 0) {
    (*gpus)->poll(steady_now());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 128 + lab::noted_signal();
}

}  // namespace

GpuWatch::GpuWatch(std::string host, std::string program, Nanos every, Warn warn)
    : host_(std::move(host)),
      reader_({.program = std::move(program), .every = every}, std::move(warn)) {}

Result<std::unique_ptr<GpuWatch>> GpuWatch::make(std::string host, Nanos every, Warn warn) {
  if (lab::find_program(kProgram).empty()) {
    return fail(ErrorCode::kUnavailable, "cannot read GPUs", "there is no program nvidia-smi",
                "install the driver's utilities, or leave out --gpus");
  }
  return std::unique_ptr<GpuWatch>(new GpuWatch(std::move(host), kProgram, every, std::move(warn)));
}

void GpuWatch::poll(Nanos now) {
  if (!reader_.poll(now)) return;
  const std::scoped_lock lock(mutex_);
  state_ = reader_.state();
}

std::vector<metrics::Family> GpuWatch::families() const {
  const std::scoped_lock lock(mutex_);
  return monitor::families_of(state_, host_);
}

Json GpuWatch::state() const {
  const std::scoped_lock lock(mutex_);
  Json rows = Json::array();
  for (const monitor::Gpu& each : state_.gpus) {
    rows.push_back({{"host", host_},
                    {"gpu", each.index},
                    {"name", each.name},
                    {"utilization", known(each.utilization)},
                    {"memory_used_bytes", known(each.memory_used_bytes)},
                    {"memory_bytes", known(each.memory_bytes)},
                    {"power_watts", known(each.power_watts)},
                    {"temperature_celsius", known(each.temperature_celsius)}});
  }
  return {{"gpus", std::move(rows)}, {"gpus_complaint", state_.complaint}};
}

int run_gpu_watch(const GpuWatchOptions& options) {
  const Result<int> status = serve_gpus(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace heddle::cli
