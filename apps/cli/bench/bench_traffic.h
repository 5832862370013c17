// BenchTraffic: what a rank of `heddle bench` sent over all of its connections.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/endpoint.h"
#include "events/events.h"

namespace heddle::cli {

struct BenchTraffic {
  uint64_t segments_sent = 0;  // with retransmissions
  uint64_t segments_retransmitted = 0;
  uint64_t segments_marked = 0;  // by ECN, as receivers' acknowledgements report
};

// The sink of the rank's endpoint: it learns of connections by their events. Thread-safe.
class BenchConnections final : public events::Sink {
 public:
  events::KindSet wanted() const override { return {events::EventKind::kConnectionOpened}; }
  void on(const events::ConnectionOpened& event) override;

  // Of those that are not released.
  BenchTraffic traffic(const engine::Endpoint& endpoint) const;

 private:
  mutable std::mutex mutex_;
  std::vector<engine::Connection> opened_;
};

}  // namespace heddle::cli
