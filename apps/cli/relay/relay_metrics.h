// RelayMetrics: what a relay has forwarded, shown to Prometheus.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "metrics/server.h"
#include "relaying/relay.h"

namespace heddle::cli {

class RelayMetrics {
 public:
  // Listens at "PORT" or "ADDRESS:PORT". Errors: those of metrics::Server.
  Result<void> open(const std::string& at);
  void set(const relaying::RelayCounts& counts, size_t sessions);

 private:
  std::vector<metrics::Family> families() const;

  mutable std::mutex mutex_;
  relaying::RelayCounts counts_;
  size_t sessions_ = 0;
  std::unique_ptr<metrics::Server> server_;  // reads the others
};

}  // namespace heddle::cli
