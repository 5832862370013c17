// See relay_metrics.h.
#include "apps/cli/relay/relay_metrics.h"

namespace heddle::cli {

Result<void> RelayMetrics::open(const std::string& at) {
  const Result<metrics::ListenAddress> address = metrics::parse_listen_address(at);
  if (!address) return fail(address.error());
  Result<std::unique_ptr<metrics::Server>> server = metrics::Server::listen(*address);
  if (!server) return fail(std::move(server).error());
  server_ = std::move(*server);
  return server_->serve([this] { return families(); });
}

void RelayMetrics::set(const relaying::RelayCounts& counts, const FecCounts& fec, size_t sessions) {
  if (!server_) return;
  const std::scoped_lock lock(mutex_);
  counts_ = counts;
  fec_ = fec;
  sessions_ = sessions;
}

std::vector<metrics::Family> RelayMetrics::families() const {
  using metrics::Type;
  const std::scoped_lock lock(mutex_);
  const auto family = [](const char* name, const char* help, Type type, uint64_t value) {
    return metrics::Family{name, help, type, {{{}, static_cast<double>(value)}}};
  };
  return {
      family("heddle_relay_sessions", "Sessions now.", Type::kGauge, sessions_),
      family("heddle_relay_sessions_total", "Sessions that were forwarded.", Type::kCounter,
             counts_.sessions),
      family("heddle_relay_refused_total", "Sessions that were refused.", Type::kCounter,
             counts_.refused),
      family("heddle_relay_frames_total", "Frames that the next hop has.", Type::kCounter,
             counts_.frames),
      family("heddle_relay_bytes_total", "Bytes that the next hop has, frame heads included.",
             Type::kCounter, counts_.bytes),
      family("heddle_relay_most_held_bytes", "Most bytes that a direction of a session held.",
             Type::kGauge, counts_.most_held_bytes),
      family("heddle_relay_parity_sent_total", "Datagrams of parity that were sent.",
             Type::kCounter, fec_.parity_sent),
      family("heddle_relay_parity_received_total", "Datagrams of parity that arrived.",
             Type::kCounter, fec_.parity_received),
      family("heddle_relay_rebuilt_total", "Datagrams that were rebuilt from parity.",
             Type::kCounter, fec_.rebuilt),
  };
}

}  // namespace heddle::cli
