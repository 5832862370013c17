// RelayMetrics: what a relay has forwarded, shown to Prometheus.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "metrics/server.h"
#include "relaying/relay.h"

namespace heddle::cli {

// Forward error correction of all legs, in datagrams.
struct FecCounts {
  uint64_t parity_sent = 0;
  uint64_t parity_received = 0;
  uint64_t rebuilt = 0;
};

class RelayMetrics {
 public:
  // Listens at "PORT" or "ADDRESS:PORT". Errors: those of metrics::Server.
  Result<void> open(const std::string& at);
  void set(const relaying::RelayCounts& counts, const FecCounts& fec, size_t sessions);

 private:
  std::vector<metrics::Family> families() const;

  mutable std::mutex mutex_;
  relaying::RelayCounts counts_;
  FecCounts fec_;
  size_t sessions_ = 0;
  std::unique_ptr<metrics::Server> server_;  // reads the others
};

}  // namespace heddle::cli
