// Endpoint's public face: it finds the connection and passes the request on.
#include "transport/endpoint.h"

#include "transport/endpoint/body.h"

namespace heddle::transport {
namespace {

Unexpected no_connection(const char* what) {
  return fail(ErrorCode::kClosed, what, "there is no such connection (any more)");
}

}  // namespace

Endpoint::Endpoint(const EndpointOptions& options, const Seed& seed, events::Sink* sink)
    : body_(std::make_unique<Body>(options, seed, sink)) {}

Endpoint::~Endpoint() = default;
Endpoint::Endpoint(Endpoint&&) noexcept = default;

Result<ConnectionId> Endpoint::post_connect(Nanos now, const Address& peer,
                                            const ConnectionOptions& options) {
  Connection* connection = body_->table.add(peer);
  if (connection == nullptr) {
    return fail(ErrorCode::kExhausted, "cannot connect", "there are as many connections as allowed",
                "close some, or raise max_connections");
  }
  const Result<void> begun = connection->begin_connect(now, options);
  if (!begun) {
    body_->table.remove(*connection);
    return fail(begun.error());
  }
  body_->table.touch(*connection);
  return connection->id();
}

Result<void> Endpoint::post_send(Nanos now, ChannelRef channel, const Payload& payload,
                                 OperationId operation, AckPolicy ack_policy) {
  Connection* connection = body_->table.find(channel.connection);
  if (connection == nullptr) return no_connection("cannot send");
  body_->table.touch(*connection);
  return connection->post_send(now, channel.channel, payload, operation, ack_policy);
}

Result<void> Endpoint::post_receive(Nanos now, ChannelRef channel, const Payload& buffer,
                                    OperationId operation, Fill fill) {
  Connection* connection = body_->table.find(channel.connection);
  if (connection == nullptr) return no_connection("cannot receive");
  body_->table.touch(*connection);
  return connection->post_receive(now, channel.channel, {buffer, operation, fill, now});
}

bool Endpoint::post_cancel(Nanos now, ConnectionId id, ChannelId channel, Direction direction,
                           OperationId operation) {
  body_->shared.latest = now;
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return false;
  body_->table.touch(*connection);
  return connection->post_cancel(now, channel, direction, operation);
}

void Endpoint::fill_at_once(ConnectionId id, ChannelId channel, OperationId receive) {
  Connection* connection = body_->table.find(id);
  if (connection != nullptr) connection->fill_at_once(channel, receive);
}

Result<void> Endpoint::post_paths(Nanos now, ConnectionId id, std::span<const uint16_t> paths) {
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return no_connection("cannot choose paths");
  body_->table.touch(*connection);
  return connection->post_paths(now, paths);
}

Result<void> Endpoint::post_plan(Nanos now, ConnectionId id, std::span<const PlannedShare> shares) {
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return no_connection("cannot follow a plan");
  body_->table.touch(*connection);
  return connection->post_plan(now, shares);
}

Result<void> Endpoint::post_discovery(Nanos now, ConnectionId id) {
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return no_connection("cannot discover the routes of the fabric");
  body_->table.touch(*connection);
  return connection->post_discovery(now);
}

void Endpoint::post_close(Nanos now, ConnectionId id) {
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return;
  connection->post_close(now);
  body_->table.touch(*connection);
}

void Endpoint::post_abort(Nanos now, ConnectionId id) {
  body_->shared.latest = now;
  Connection* connection = body_->table.find(id);
  if (connection == nullptr) return;
  connection->post_abort(now);
  body_->table.touch(*connection);
}

void Endpoint::set_receive_capacity(Nanos, Bytes capacity) {
  body_->shared.options.receive_capacity = capacity;
  body_->shared.credits.set_receive_capacity(capacity);
}

void Endpoint::handle_run(Nanos now, const RxRun& run) {
  body_->shared.latest = now;
  body_->handle_run(now, run);
}

bool Endpoint::keyed() const { return body_->shared.keyed; }

void Endpoint::set_keys(std::span<const ClusterKey> keys) {
  CHECK(body_->shared.keyed && !keys.empty());
  body_->shared.ring = KeyRing(keys);
}

Protection Endpoint::protection() const { return body_->shared.options.protection; }

Endpoint::BurstClaim Endpoint::claim_burst(Nanos now, const Address& from,
                                           std::span<const std::byte> header, uint32_t segments) {
  return body_->claim_burst(now, from, header, segments);
}

PacketKey* Endpoint::receive_key(Nanos now, const Address& from,
                                 std::span<const std::byte> packet) {
  return body_->receive_key(now, from, packet);
}

void Endpoint::note_decrypted(Nanos now, std::span<const std::byte> header, bool ok) {
  body_->note_decrypted(now, header, ok);
}

void Endpoint::handle_nic_event(Nanos now, const NicEvent& event) {
  body_->shared.latest = now;
  Connection* connection = body_->table.find(event.connection);
  if (connection == nullptr) {
    body_->shared.observer.drop(now, 0, events::DropReason::kUnknownConnection);
    return;
  }
  connection->handle_nic_event(now, event);
  body_->table.touch(*connection);
}

void Endpoint::set_token(RegionId region, const MemoryToken& token) {
  body_->shared.tokens[region] = token;
}

bool Endpoint::poll_nic_request(NicRequest& request) {
  if (body_->shared.nic_requests.empty()) return false;
  request = body_->shared.nic_requests.pop_front();
  return true;
}

void Endpoint::handle_network_error(Nanos now, const NetworkError& error) {
  body_->shared.latest = now;
  body_->table.for_each([&](Connection& connection) {
    if (!connection.is_peer(error.to) || connection.peer().port != error.to.port) return;
    connection.handle_network_error(now, error);
    body_->table.touch(connection);
  });
}

void Endpoint::handle_timeout(Nanos now) {
  body_->shared.latest = now;
  body_->handle_timeout(now);
}

bool Endpoint::poll_transmit(Nanos now, TxBatch& batch) { return body_->poll_transmit(now, batch); }

Nanos Endpoint::poll_timeout() const { return body_->next_timeout(); }

bool Endpoint::poll_completion(Completion& completion) {
  if (body_->shared.completions.empty()) return false;
  completion = body_->shared.completions.pop_front();
  if (!completion.ok) return true;
  const auto direction = completion.direction == Direction::kSend ? events::Direction::kSent
                                                                  : events::Direction::kReceived;
  body_->shared.observer.emit(events::MessageCompleted{
      body_->shared.latest, completion.connection, completion.channel, completion.sequence,
      completion.bytes, direction, body_->shared.latest - completion.posted_at});
  return true;
}

bool Endpoint::poll_notice(Notice& notice) {
  if (body_->shared.notices.empty()) return false;
  notice = body_->shared.notices.pop_front();
  return true;
}

std::span<const Placement> Endpoint::placements() const { return body_->shared.placements; }

void Endpoint::clear_placements() { body_->shared.placements.clear(); }

bool Endpoint::predict(Prediction& prediction) const {
  const Connection* connection = body_->table.find(body_->latest_data);
  return connection != nullptr && connection->predict(prediction);
}

const Statistics& Endpoint::statistics() const { return body_->shared.statistics; }

const ConnectionStatistics* Endpoint::statistics(ConnectionId id) const {
  Connection* connection = body_->table.find(id);
  return connection == nullptr ? nullptr : &connection->statistics();
}

uint64_t Endpoint::wire_id(ConnectionId id) const {
  const Connection* connection = body_->table.find(id);
  return connection == nullptr ? 0 : connection->wire_id();
}

std::vector<PathStatistics> Endpoint::path_statistics(ConnectionId id) const {
  const Connection* connection = body_->table.find(id);
  if (connection == nullptr) return {};
  return connection->path_statistics();
}

bool Endpoint::routes(ConnectionId id, FabricRoutes& found) const {
  const Connection* connection = body_->table.find(id);
  return connection != nullptr && connection->routes(found);
}

uint32_t Endpoint::connections() const { return body_->table.size(); }

size_t Endpoint::bytes_held() const { return body_->bytes_held(); }

uint32_t Endpoint::records_lent() const {
  const Shared& shared = body_->shared;
  const EndpointOptions& o = shared.options;
  const bool eager = o.eager_region != kNoRegion && o.eager_block_bytes != 0;
  const uint64_t blocks = eager ? o.eager_bytes.count / o.eager_block_bytes : 0;
  return shared.sent.lent() + shared.out.lent() + shared.retransmissions.lent() + shared.in.lent() +
         shared.ranges.lent() + static_cast<uint32_t>(blocks - shared.eager.left());
}

}  // namespace heddle::transport
