// See live_metrics.h.
#include "apps/cli/verify/live_metrics.h"

#include <utility>

#include "acceptance/live_families.h"

namespace heddle::cli {

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
  return server_->serve([this] { return acceptance::families_of(figures_->snapshot()); });
}

}  // namespace heddle::cli
