// Endpoint, observability: statistics for any thread, and events of layers above with their time.
#include <optional>
#include <utility>

#include "engine/endpoint_engines.h"

namespace heddle::engine {

Endpoint::SinkAccess Endpoint::Body::lock_sink() {
  EndpointLock::Lock lock = state_lock_.lock();
  const std::optional<Nanos> recorded = sink_->stamp(driver_.last_turn_at());
  const Nanos now = recorded ? *recorded : stamp();
  return {std::move(lock), sink_->sink(), now};
}

// --- Endpoint ---

Endpoint::SinkAccess Endpoint::lock_sink() {
  Body* const body = body_.here();
  return body == nullptr ? SinkAccess() : body->lock_sink();
}

events::KindSet Endpoint::observed() const { return observed_; }
Nanos Endpoint::now() const { return network_->now(); }
uint32_t Endpoint::burst_payload_bytes() const { return burst_payload_bytes_; }
int Endpoint::wake_descriptor() const { return network_->wake_descriptor(); }
transport::Address Endpoint::local_address() const { return network_->local_address(); }
std::vector<transport::Address> Endpoint::local_nics() const { return network_->local_nics(); }
const datapath::Capabilities& Endpoint::capabilities() const { return network_->capabilities(); }

std::optional<transport::FabricRoutes> Endpoint::routes(Connection connection) const {
  Body* const first = body_.here();
  if (first == nullptr) return std::nullopt;
  Body& body = first->of(connection);
  const EndpointLock::Lock lock = body.state_lock_.lock();
  transport::FabricRoutes found;
  if (!body.transport_.routes(connection, found)) return std::nullopt;
  return found;
}

uint16_t Endpoint::source_port(Connection connection, uint16_t path, uint8_t nic) const {
  Body* const first = body_.here();
  if (first == nullptr) return 0;
  Body& body = first->of(connection);
  const EndpointLock::Lock lock = body.state_lock_.lock_all();
  return body.datapath_->source_port(path, nic);
}

transport::Statistics Endpoint::statistics() const {
  Body* const body = body_.here();
  if (body == nullptr) return {};
  transport::Statistics sum;
  for_each_engine(*body, [&sum](Body& engine) {
    const EndpointLock::Lock lock = engine.state_lock_.lock();
    sum.add(engine.transport_.statistics());
  });
  return sum;
}

std::optional<transport::ConnectionStatistics> Endpoint::statistics(Connection connection) const {
  Body* const first = body_.here();
  if (first == nullptr) return std::nullopt;
  Body& body = first->of(connection);
  const EndpointLock::Lock lock = body.state_lock_.lock();
  const transport::ConnectionStatistics* found = body.transport_.statistics(connection);
  if (found == nullptr) return std::nullopt;
  return *found;
}

std::vector<transport::PathStatistics> Endpoint::path_statistics(Connection connection) const {
  Body* const first = body_.here();
  if (first == nullptr) return {};
  Body& body = first->of(connection);
  const EndpointLock::Lock lock = body.state_lock_.lock();
  return body.transport_.path_statistics(connection);
}

datapath::DatapathStatistics Endpoint::datapath_statistics() const {
  Body* const body = body_.here();
  if (body == nullptr) return {};
  datapath::DatapathStatistics sum;
  for_each_engine(*body, [&sum](Body& engine) {
    const EndpointLock::Lock lock = engine.state_lock_.lock_all();
    sum.add(engine.datapath_->statistics());
  });
  return sum;
}

DriverStatistics Endpoint::driver_statistics() const {
  Body* const body = body_.here();
  if (body == nullptr) return {};
  DriverStatistics sum;
  for_each_engine(*body, [&sum](Body& engine) {
    const EndpointLock::Lock lock = engine.state_lock_.lock();
    sum.add(engine.driver_.statistics());
  });
  return sum;
}

size_t Endpoint::bytes_held() const {
  Body* const body = body_.here();
  if (body == nullptr) return 0;
  size_t sum = 0;
  for_each_engine(*body, [&sum](Body& engine) {
    const EndpointLock::Lock lock = engine.state_lock_.lock();
    sum += engine.transport_.bytes_held();
  });
  return sum;
}

}  // namespace heddle::engine
