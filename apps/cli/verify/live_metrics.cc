// See live_metrics.h.
#include "apps/cli/verify/live_metrics.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "acceptance/live_families.h"
#include "base/clocks.h"

namespace heddle::cli {

namespace {

// As `heddle monitor --gpus` has it by default.
constexpr Nanos kGpuInterval = seconds(5);

// The machines of `--hosts` are asked for no GPUs while they are tested: nvidia-smi takes seconds
// on some, and its process would be on what is measured.
constexpr const char* kWhose = " Of the machine that runs the test, not of those of --hosts.";

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

Result<std::unique_ptr<LiveMetrics>> LiveMetrics::open(const std::string& at) {
  const Result<metrics::ListenAddress> address = metrics::parse_listen_address(at);
  if (!address) return fail(address.error());
  Result<std::unique_ptr<metrics::Server>> server = metrics::Server::listen(*address);
  if (!server) return fail(std::move(server).error());
  auto made = std::make_unique<LiveMetrics>();
  made->server_ = std::move(*server);
  return made;
}

Result<void> LiveMetrics::serve(const std::string& fabric) {
  figures_.emplace(fabric);
  auto gpus = GpuWatch::make(own_host_name(), kGpuInterval, [](const std::string& /*text*/) {});
  if (gpus) gpus_ = std::move(*gpus);
  return server_->serve([this] { return families(); });
}

// By the thread of the server, at each scrape: what nvidia-smi said after the one before.
std::vector<metrics::Family> LiveMetrics::families() {
  std::vector<metrics::Family> all = acceptance::families_of(figures_->snapshot());
  if (gpus_ == nullptr) return all;
  gpus_->poll(steady_now());
  for (metrics::Family& each : gpus_->families()) {
    each.help += kWhose;
    all.push_back(std::move(each));
  }
  return all;
}

}  // namespace heddle::cli
