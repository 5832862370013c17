// Endpoint: see endpoint.h for the contract, endpoint_body.h for how threads share the state,
// endpoint_drive.cc for which thread drives.
#include "engine/endpoint.h"

#include <algorithm>
#include <utility>

#include "engine/burst_payload.h"
#include "engine/endpoint_engines.h"
#include "engine/process_recording.h"
#include "engine/seed.h"

namespace heddle::engine {
namespace {

Unexpected forked(const char* what) {
  return fail(ErrorCode::kClosed, what, "the endpoint belongs to the parent of this process",
              "open a new one after fork()");
}

transport::EndpointOptions fitted(const Options& options, const datapath::Datapath& datapath,
                                  const EagerMemory& eager) {
  const datapath::Capabilities& network = datapath.capabilities();
  transport::EndpointOptions fit = options.transport;
  fit.selector = PlanFollower::selector_of(fit.selector);
  fit.nics = datapath.local_nics();
  fit.reply_port = datapath.local_address().port;
  fit.max_datagram_bytes = network.max_datagram_bytes;
  fit.receive_capacity = network.receive_capacity;
  fit.max_paths = std::min(fit.max_paths, network.max_paths);
  fit.default_paths = std::min(fit.default_paths, fit.max_paths);
  fit.chunk_paths = network.chunk_paths;
  fit.chunk_bytes = network.chunk_bytes;
  fit.reliable_chunks = network.reliable_chunks;
  fit.eager_region = eager.region();
  fit.eager_bytes = {eager.bytes()};
  return fit;
}

void record_nics(const datapath::Datapath& datapath, Nanos now, events::Recorder& recorder) {
  const std::vector<transport::Address> nics = datapath.local_nics();
  for (size_t i = 0; i < nics.size(); ++i) {
    const auto nic = static_cast<uint8_t>(i);
    const datapath::NicFacts facts = datapath.nic_facts(nic);
    recorder.on_any(events::NicOpened{now, nic, transport::host_part(nics[i], 0),
                                      transport::host_part(nics[i], 8), events::Text(facts.device),
                                      facts.rate.count});
  }
}

}  // namespace

// --- Body ---

Endpoint::Body::Body(std::shared_ptr<datapath::Datapath> datapath, EagerMemory eager,
                     const Options& options, const BodyShares& shares, Engines* engines)
    : options_(options),
      sink_(shares.sink),
      datapath_(std::move(datapath)),
      eager_(std::move(eager)),
      operations_(options.transport.engine.index),
      state_lock_(*datapath_),
      transport_(fitted(options, *datapath_, eager_),
                 options.seed != 0 ? Seed(options.seed) : system_secret_seed(), sink_->sink()),
      driver_(transport_, *datapath_),
      plan_follower_(shares.plan, dynamic_cast<KnownRoutes*>(datapath_.get())),
      engines_(engines),
      takeover_(datapath_->now(), options.takeover_after),
      idle_spin_(options.spin, options.spin_limit, *datapath_) {
  if (!sink_->observed().has(events::EventKind::kWireBin)) return;
  driver_.count_wire(*sink_->sink(), events::wire_span(options.recording.level));
}

Result<Connection> Endpoint::Body::connect(const transport::Address& peer,
                                           const ConnectionOptions& options) {
  EndpointLock::Lock lock = state_lock_.lock();
  const Nanos now = stamp();
  Result<Connection> connection = transport_.post_connect(now, peer, options);
  if (!connection) return connection;
  connections_.add(*connection, peer);
  after_post(lock, now);
  return connection;
}

Result<void> Endpoint::Body::fix_paths(Connection connection, std::span<const uint16_t> paths) {
  EndpointLock::Lock lock = state_lock_.lock();
  const Nanos now = stamp();
  Result<void> posted = transport_.post_paths(now, connection, paths);
  after_post(lock, now);
  return posted;
}

Result<void> Endpoint::Body::find_routes(Connection connection) {
  EndpointLock::Lock lock = state_lock_.lock();
  const Nanos now = stamp();
  Result<void> posted = transport_.post_discovery(now, connection);
  after_post(lock, now);
  return posted;
}

std::optional<Connection> Endpoint::Body::take_accepted() {
  const EndpointLock::Lock lock = state_lock_.lock();
  return connections_.take_accepted();
}

void Endpoint::Body::close(Connection connection) {
  EndpointLock::Lock lock = state_lock_.lock();
  const Nanos now = stamp();
  transport_.post_close(now, connection);
  after_post(lock, now);
}

void Endpoint::Body::abort(Connection connection) {
  EndpointLock::Lock lock = state_lock_.lock_all();
  const ConnectionStatus* status = connections_.find(connection);
  if (status == nullptr) return;
  const bool living = status->state != ConnectionState::kClosed;
  connections_.give_back(connection);
  if (!living) return;
  // Its operations end now, so no copy into their memory may come later.
  driver_.settle();
  const Nanos now = stamp();
  transport_.post_abort(now, connection);
  after_post(lock, now);
}

Result<Operation> Endpoint::Body::post(const OperationPlace& place,
                                       const transport::Payload& payload, const Manner& manner) {
  const Operation operation = operations_.open(place);
  if (!operation) {
    return fail(ErrorCode::kExhausted, "cannot post a message",
                "too many operations are in progress", "test() or wait() for some first");
  }
  EndpointLock::Lock lock = state_lock_.lock();
  const Nanos now = stamp();
  const Result<void> posted = place.direction == Direction::kSend
                                  ? transport_.post_send(now, {place.connection, place.channel},
                                                         payload, operation.id, manner.ack_policy)
                                  : transport_.post_receive(now, {place.connection, place.channel},
                                                            payload, operation.id, manner.fill);
  if (!posted) {
    operations_.abandon(operation);
    return fail(posted.error());
  }
  after_post(lock, now);
  return operation;
}

void Endpoint::Body::cancel(Operation operation) {
  EndpointLock::Lock lock = state_lock_.lock();
  OperationPlace place;
  if (!operations_.find(operation, place)) return;
  const Nanos now = stamp();
  transport_.post_cancel(now, place.connection, place.channel, place.direction, operation.id);
  after_post(lock, now);
}

void Endpoint::Body::fill_at_once(Operation receive) {
  const EndpointLock::Lock lock = state_lock_.lock();
  OperationPlace place;
  if (!operations_.find(receive, place)) return;
  transport_.fill_at_once(place.connection, place.channel, receive.id);
}

Result<transport::RegionId> Endpoint::Body::register_region(const Registered& range) {
  const EndpointLock::Lock lock = state_lock_.lock_all();
  const datapath::DeviceMemory& memory = range.memory;
  Result<transport::RegionId> region = memory.dmabuf < 0
                                           ? datapath_->register_memory(memory.mapping, range.bytes)
                                           : datapath_->register_device_memory(memory, range.bytes);
  if (!region) return region;
  const transport::MemoryToken token = datapath_->token(*region);
  if (token.length > 0) transport_.set_token(*region, token);
  return region;
}

void Endpoint::Body::unregister_region(transport::RegionId region) {
  driver_.forget(region);
  // The datapath may reuse the region's id.
  if (datapath_->capabilities().chunk_paths > 0) transport_.set_token(region, {});
  datapath_->unregister_memory(region);
}

void Endpoint::Body::unregister(transport::RegionId region) {
  // Memory handles are destroyed automatically, also in a child of fork().
  if (state_lock_.in_child()) return;
  const EndpointLock::Lock lock = state_lock_.lock_all();
  driver_.settle();
  unregister_region(region);
}

// --- Endpoint ---

Endpoint::Endpoint(std::shared_ptr<Body> body, std::shared_ptr<datapath::Datapath> network)
    : body_(std::move(body)),
      network_(std::move(network)),
      observed_(body_.here()->sink_->observed()),
      burst_payload_bytes_(engine::burst_payload_bytes(
          network_->capabilities(), body_.here()->options_.transport.longest_burst,
          body_.here()->transport_.keyed())) {}

Result<std::unique_ptr<Endpoint>> Endpoint::create(
    const std::vector<std::shared_ptr<datapath::Datapath>>& datapaths, const Options& options) {
  CHECK(!datapaths.empty() && datapaths.size() <= transport::kMostEngines);
  const std::shared_ptr<datapath::Datapath>& datapath = datapaths.front();
  if (datapaths.size() > 1 && options.drive == Drive::kExternal) {
    return fail(ErrorCode::kInvalid, "cannot create several engines",
                "each is driven by a thread, and this endpoint by its owner", "set engines to 1");
  }
  Result<std::unique_ptr<events::Recorder>> recorder =
      open_recorder(options.recording, datapath->now(), datapath->local_address());
  if (!recorder) return fail(recorder.error());
  if (*recorder) record_nics(*datapath, datapath->now(), **recorder);
  const bool several = datapaths.size() > 1;
  const BodyShares shares{
      .sink = std::make_shared<EndpointSink>(options, std::move(*recorder), several),
      .plan = PlanFollower::plan_of(options.transport.selector)};
  if (several) {
    auto engines = std::make_shared<Engines>();
    if (Result<void> started = engines->start(datapaths, options, shares); !started) {
      return fail(started.error());
    }
    std::shared_ptr<Body> first(engines, engines->all().front().get());
    return std::unique_ptr<Endpoint>(new Endpoint(std::move(first), datapath));
  }
  Result<EagerMemory> eager = EagerMemory::create(datapath, options.eager_bytes);
  if (!eager) return fail(eager.error());
  auto body = std::make_shared<Body>(datapath, std::move(*eager), options, shares);
  if (Result<void> started = body->start(); !started) return fail(started.error());
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(body), datapath));
}

Endpoint::~Endpoint() {
  // Does nothing in a child of fork(): the parent still uses these descriptors, and its memory is a
  // copy.
  Body* const body = body_.here();
  if (body == nullptr) return;
  if (Engines* const engines = body->engines()) {
    engines->shut_down();
  } else {
    body->shut_down();
  }
}

Result<Connection> Endpoint::connect(const transport::Address& peer,
                                     const ConnectionOptions& options) {
  Body* const body = body_.here();
  if (body == nullptr) return forked("cannot connect");
  if (Engines* const engines = body->engines()) return engines->connect(peer, options);
  return body->connect(peer, options);
}

Result<void> Endpoint::wait_open(Connection connection, Nanos timeout) {
  Body* const first = body_.here();
  if (first == nullptr) return forked("cannot wait for a connection");
  Body& body = first->of(connection);
  body.drive_until(
      [&] {
        const ConnectionStatus* status = body.connections_.find(connection);
        return status == nullptr || status->state != ConnectionState::kOpening;
      },
      timeout);
  const ConnectionStatus now = status(connection);
  if (now.state == ConnectionState::kOpen) return {};
  if (now.state == ConnectionState::kClosed) return fail(now.error);
  return fail(ErrorCode::kTimeout, "cannot connect", "no answer in time", "is the peer running?");
}

std::optional<Connection> Endpoint::accept(Nanos timeout) {
  Body* const body = body_.here();
  if (body == nullptr) return std::nullopt;
  if (Engines* const engines = body->engines()) return engines->accept(timeout);
  std::optional<Connection> taken;
  body->drive_until(
      [&] {
        if (!taken) taken = body->connections_.take_accepted();
        return taken.has_value();
      },
      timeout);
  return taken;
}

std::optional<Connection> Endpoint::take_accepted() {
  Body* const body = body_.here();
  if (body == nullptr) return std::nullopt;
  if (Engines* const engines = body->engines()) return engines->take_accepted();
  return body->take_accepted();
}

ConnectionStatus Endpoint::status(Connection connection) const {
  ConnectionStatus unknown{.state = ConnectionState::kClosed};
  unknown.error = {ErrorCode::kInvalid, "no such connection", "it was given back", ""};
  Body* const first = body_.here();
  if (first == nullptr) return unknown;
  Body& body = first->of(connection);
  const EndpointLock::Lock lock = body.state_lock_.lock();
  const ConnectionStatus* found = body.connections_.find(connection);
  return found == nullptr ? unknown : *found;
}

void Endpoint::begin_close(Connection connection) {
  if (Body* const body = body_.here()) body->of(connection).close(connection);
}

Result<void> Endpoint::close(Connection connection, Nanos timeout) {
  Body* const first = body_.here();
  if (first == nullptr) return forked("cannot close a connection");
  Body& body = first->of(connection);
  body.close(connection);
  const bool closed = body.drive_until(
      [&] {
        const ConnectionStatus* status = body.connections_.find(connection);
        return status == nullptr || status->state == ConnectionState::kClosed;
      },
      timeout);
  const ConnectionStatus last = status(connection);
  body.abort(connection);
  if (closed && last.graceful) return {};
  if (closed) return fail(last.error);
  return fail(ErrorCode::kTimeout, "cannot close the connection gracefully",
              "the peer did not answer in time");
}

void Endpoint::abort(Connection connection) {
  if (Body* const body = body_.here()) body->of(connection).abort(connection);
}

Result<Memory> Endpoint::register_memory(const datapath::DeviceMemory& memory, size_t bytes) {
  Body* const body = body_.here();
  if (body == nullptr) return forked("cannot register memory");
  if (Engines* const engines = body->engines()) return engines->register_memory({memory, bytes});
  Result<transport::RegionId> region = body->register_region({memory, bytes});
  if (!region) return fail(region.error());
  return Memory(body->weak_from_this(), *region, static_cast<std::byte*>(memory.mapping), bytes);
}

Result<Operation> Endpoint::send(Connection connection, Channel channel,
                                 const transport::Payload& payload,
                                 transport::AckPolicy ack_policy) {
  Body* const first = body_.here();
  if (first == nullptr) return forked("cannot post a message");
  Body& body = first->of(connection);
  return body.post({.connection = connection, .channel = channel}, body.local(payload),
                   {.ack_policy = ack_policy});
}

Result<Operation> Endpoint::receive(Connection connection, Channel channel,
                                    const transport::Payload& buffer, transport::Fill fill) {
  Body* const first = body_.here();
  if (first == nullptr) return forked("cannot post a message");
  Body& body = first->of(connection);
  return body.post({.connection = connection, .channel = channel, .direction = Direction::kReceive},
                   body.local(buffer), {.fill = fill});
}

Result<Operation> Endpoint::post_unregistered(OperationPlace place, void* start, size_t bytes) {
  Body* const first = body_.here();
  if (first == nullptr) return forked("cannot post a message");
  Body* const body = &first->of(place.connection);
  if (bytes == 0) return body->post(place, {}, {});
  Result<transport::RegionId> region = body->register_region({{.mapping = start}, bytes});
  if (!region) return fail(region.error());
  place.temporary = *region;
  Result<Operation> operation =
      body->post(place, {.region = *region, .offset = 0, .length = bytes}, {});
  if (!operation) body->unregister(*region);
  return operation;
}

Result<Operation> Endpoint::send(Connection connection, Channel channel, const void* start,
                                 size_t bytes) {
  // Regions have no direction; payload that is sent is only read.
  return post_unregistered({.connection = connection, .channel = channel}, const_cast<void*>(start),
                           bytes);
}

Result<Operation> Endpoint::receive(Connection connection, Channel channel, void* start,
                                    size_t bytes) {
  return post_unregistered(
      {.connection = connection, .channel = channel, .direction = Direction::kReceive}, start,
      bytes);
}

Outcome Endpoint::test(Operation operation) {
  Body* const first = body_.here();
  if (first == nullptr) return kForkedOutcome;
  Body& body = first->of(operation);
  const Outcome outcome = body.operations_.take(operation);
  if (outcome.done) return outcome;
  body.turn_if_free();
  return body.operations_.take(operation);
}

Outcome Endpoint::peek(Operation operation) {
  Body* const body = body_.here();
  return body == nullptr ? kForkedOutcome : body->of(operation).operations_.take(operation);
}

void Endpoint::cancel(Operation operation) {
  if (Body* const body = body_.here()) body->of(operation).cancel(operation);
}

void Endpoint::fill_at_once(Operation receive) {
  if (Body* const body = body_.here()) body->of(receive).fill_at_once(receive);
}

void Endpoint::forget(Operation operation) {
  if (Body* const body = body_.here()) body->of(operation).operations_.forget(operation);
}

void Endpoint::interrupt() {
  if (Body* const body = body_.here()) body->interrupt();
}

void Endpoint::set_poll_source(PollSource* poll_source) {
  if (Body* const body = body_.here()) body->set_poll_source(poll_source);
}

Nanos Endpoint::turn() {
  Body* const body = body_.here();
  return body == nullptr ? Nanos::never() : body->turn_external();
}

Nanos Endpoint::helper_turn() {
  Body* const body = body_.here();
  return body == nullptr ? Nanos::never() : body->look_external();
}

Result<void> Endpoint::fix_paths(Connection connection, std::span<const uint16_t> paths) {
  Body* const body = body_.here();
  if (body == nullptr) return forked("cannot choose paths");
  return body->of(connection).fix_paths(connection, paths);
}

Result<void> Endpoint::find_routes(Connection connection) {
  Body* const body = body_.here();
  if (body == nullptr) return forked("cannot discover the routes of the fabric");
  return body->of(connection).find_routes(connection);
}

Result<void> Endpoint::set_keys(std::span<const transport::ClusterKey> keys) {
  Body* const body = body_.here();
  if (body == nullptr) return forked("cannot change the cluster keys");
  if (keys.empty() || !body->transport_.keyed()) {
    return fail(ErrorCode::kInvalid, "cannot change the cluster keys",
                keys.empty() ? "there are none" : "this endpoint was made without any",
                "create a new endpoint: one with keys cannot become one without, nor the reverse");
  }
  for_each_engine(*body, [keys](Body& engine) {
    const EndpointLock::Lock lock = engine.state_lock_.lock();
    engine.transport_.set_keys(keys);
  });
  return {};
}

}  // namespace heddle::engine
