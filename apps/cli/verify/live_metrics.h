// Live metrics of `heddle verify --metrics`: listens before anything is made, and serves from the
// start of the test until it is destroyed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/live_figures.h"
#include "apps/cli/monitor/gpu_watch.h"
#include "base/result.h"
#include "metrics/server.h"

namespace heddle::cli {

class LiveMetrics {
 public:
  // Listens on "[ADDRESS:]PORT". Errors: as metrics::Server::listen().
  static Result<std::unique_ptr<LiveMetrics>> open(const std::string& at);

  // Serves from now on, with this label, and this machine's GPUs where there is nvidia-smi, not
  // those of other machines that are tested; a process that has yet to move into another user
  // namespace does so before. Errors: kExhausted.
  Result<void> serve(const std::string& fabric);

  std::string url() const { return server_->url(); }
  acceptance::LiveFigures& figures() { return *figures_; }  // of a server that serves

 private:
  std::vector<metrics::Family> families();

  std::optional<acceptance::LiveFigures> figures_;
  std::unique_ptr<GpuWatch> gpus_;           // none: there is no nvidia-smi
  std::unique_ptr<metrics::Server> server_;  // reads the figures
};

}  // namespace heddle::cli
