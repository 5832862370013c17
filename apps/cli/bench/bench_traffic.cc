// See bench_traffic.h.
#include "apps/cli/bench/bench_traffic.h"

namespace heddle::cli {

void BenchConnections::on(const events::ConnectionOpened& event) {
  const std::lock_guard lock(mutex_);
  opened_.push_back(event.connection);
}

BenchTraffic BenchConnections::traffic(const engine::Endpoint& endpoint) const {
  std::vector<engine::Connection> opened;
  {
    const std::lock_guard lock(mutex_);  // an event may come while the endpoint is asked
    opened = opened_;
  }
  BenchTraffic sum;
  for (const engine::Connection connection : opened) {
    const auto found = endpoint.statistics(connection);
    if (!found) continue;
    sum.segments_sent += found->segments_sent;
    sum.segments_retransmitted += found->segments_retransmitted;
    sum.segments_marked += found->congestion_marks;
  }
  return sum;
}

}  // namespace heddle::cli
