// Endpoint: see endpoint.h for the contract, endpoint_body.h for how threads share it,
// endpoint_drive.cc for who drives.
#include "engine/endpoint.h"

#include <algorithm>
#include <utility>

#include "engine/burst_payload.h"
#include "engine/endpoint_body.h"
#include "engine/process_recording.h"
#include "engine/seed.h"

namespace heddle::engine {
namespace {

Unexpected forked(const char* what) {
  return fail(ErrorCode::kClosed, what, "the endpoint belongs to the parent of this process",
              "open a new one after fork()");
}

transport::EndpointOptions fitted(const Options& options, const datapath::Datapath& datapath,
                                  transport::RegionId eager_region, size_t eager_bytes) {
  const datapath::Capabilities& network = datapath.capabilities();
  transport::EndpointOptions fit = options.transport;
  fit.nics = datapath.local_nics();
  fit.reply_port = datapath.local_address().port;
  fit.max_datagram_bytes = network.max_datagram_bytes;
  fit.receive_capacity = network.receive_capacity;
  fit.max_paths = std::min(fit.max_paths, network.max_paths);
  fit.default_paths = std::min(fit.default_paths, fit.max_paths);
  fit.chunk_paths = network.chunk_paths;
  fit.chunk_bytes = network.chunk_bytes;
  fit.reliable_chunks = network.reliable_chunks;
  fit.eager_region = eager_region;
  fit.eager_bytes = {eager_region == transport::kNoRegion ? 0 : eager_bytes};
  return fit;
}

void tell_nics(const datapath::Datapath& datapath, Nanos now, events::Recorder& recorder) {
  const std::vector<transport::Address> nics = datapath.local_nics();
  for (size_t i = 0; i < nics.size(); ++i) {
    const auto nic = static_cast<uint8_t>(i);
    const datapath::NicFacts facts = datapath.nic_facts(nic);
    recorder.on_any(events::NicOpened{now, nic, transport::host_part(nics[i], 0),
                                      transport::host_part(nics[i], 8), events::Text(facts.device),
                                      facts.rate.count});
  }
}

// One sink for both, so that what is told to none or one costs no more than before.
events::Sink* sink_of(const Options& options, events::Recorder* recorder, events::TeeSink& both) {
  if (recorder == nullptr) return options.sink;
  if (options.sink == nullptr) return recorder;
  both.add(options.sink);
  both.add(recorder);
  return &both;
}

}  // namespace

// --- Body ---

Endpoint::Body::Body(std::shared_ptr<datapath::Datapath> datapath,
                     std::unique_ptr<EagerMemory> eager, transport::RegionId eager_region,
                     const Options& options, std::unique_ptr<events::Recorder> recorder)
    : options_(options),
      recorder_(std::move(recorder)),
      datapath_(std::move(datapath)),
      eager_(std::move(eager)),
      eager_region_(eager_region),
      sink_(sink_of(options, recorder_.get(), sinks_)),
      observed_(sink_ == nullptr ? events::KindSet() : sink_->wanted()),
      wheel_(*datapath_),
      transport_(fitted(options, *datapath_, eager_region, eager_->bytes()),
                 options.seed != 0 ? Seed(options.seed) : system_secret_seed(), sink_),
      driver_(transport_, *datapath_),
      takeover_(datapath_->now(), options.takeover_after),
      spin_budget_(options.spin_limit) {
  if (recorder_ != nullptr && options.recording.clock != nullptr) {
    stamp_clock_.emplace(options.recording.clock);
  }
  if (!observed_.has(events::EventKind::kWireBin)) return;
  driver_.count_wire(*sink_, events::wire_span(options.recording.level));
}

Endpoint::Body::~Body() {
  if (eager_region_ != transport::kNoRegion) datapath_->unregister_memory(eager_region_);
}

Result<Connection> Endpoint::Body::connect(const transport::Address& peer,
                                           const ConnectionOptions& options) {
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp();
  Result<Connection> connection = transport_.post_connect(now, peer, options);
  if (!connection) return connection;
  connections_.add(*connection, peer);
  after_post(lock, now);
  return connection;
}

Result<void> Endpoint::Body::fix_paths(Connection connection, std::span<const uint16_t> paths) {
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp();
  Result<void> posted = transport_.post_paths(now, connection, paths);
  after_post(lock, now);
  return posted;
}

Result<void> Endpoint::Body::find_ways(Connection connection) {
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp();
  Result<void> posted = transport_.post_discovery(now, connection);
  after_post(lock, now);
  return posted;
}

void Endpoint::Body::close(Connection connection) {
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp();
  transport_.post_close(now, connection);
  after_post(lock, now);
}

void Endpoint::Body::abort(Connection connection) {
  Wheel::Lock lock = wheel_.lock();
  const ConnectionStatus* status = connections_.find(connection);
  if (status == nullptr) return;
  const bool living = status->state != ConnectionState::kClosed;
  connections_.give_back(connection);
  if (!living) return;
  const Nanos now = stamp();
  transport_.post_abort(now, connection);
  after_post(lock, now);
}

Result<Operation> Endpoint::Body::post(const OperationPlace& place,
                                       const transport::Payload& payload, const Manner& manner) {
  if (in_child()) return forked("cannot post a message");
  const Operation operation = operations_.open(place);
  if (!operation) {
    return fail(ErrorCode::kExhausted, "cannot post a message", "too many operations are under way",
                "test() or wait() for some first");
  }
  Wheel::Lock lock = wheel_.lock();
  const Nanos now = stamp();
  const Result<void> posted = place.direction == Direction::kSend
                                  ? transport_.post_send(now, place.connection, place.channel,
                                                         payload, operation.id, manner.wish)
                                  : transport_.post_receive(now, place.connection, place.channel,
                                                            payload, operation.id, manner.fill);
  if (!posted) {
    operations_.abandon(operation);
    return fail(posted.error());
  }
  after_post(lock, now);
  return operation;
}

void Endpoint::Body::cancel(Operation operation) {
  Wheel::Lock lock = wheel_.lock();
  OperationPlace place;
  if (!operations_.find(operation, place)) return;
  const Nanos now = stamp();
  transport_.post_cancel(now, place.connection, place.channel, place.direction, operation.id);
  after_post(lock, now);
}

void Endpoint::Body::fill_at_once(Operation receive) {
  const Wheel::Lock lock = wheel_.lock();
  OperationPlace place;
  if (!operations_.find(receive, place)) return;
  transport_.fill_at_once(place.connection, place.channel, receive.id);
}

Result<transport::RegionId> Endpoint::Body::register_region(void* start, size_t bytes) {
  const Wheel::Lock lock = wheel_.lock_all();
  Result<transport::RegionId> region = datapath_->register_memory(start, bytes);
  if (!region) return region;
  const transport::MemoryToken token = datapath_->token(*region);
  if (token.length > 0) transport_.set_token(*region, token);
  return region;
}

void Endpoint::Body::unregister_region(transport::RegionId region) {
  driver_.forget(region);
  // The next region may get the same name.
  if (datapath_->capabilities().chunk_paths > 0) transport_.set_token(region, {});
  datapath_->unregister_memory(region);
}

void Endpoint::Body::unregister(transport::RegionId region) {
  if (in_child()) return;
  const Wheel::Lock lock = wheel_.lock_all();
  unregister_region(region);
}

// --- Endpoint ---

Endpoint::Endpoint(std::shared_ptr<Body> body) : body_(std::move(body)) { body_->start(); }

Result<std::unique_ptr<Endpoint>> Endpoint::create(std::shared_ptr<datapath::Datapath> datapath,
                                                   const Options& options) {
  auto eager = std::make_unique<EagerMemory>(options.eager_bytes);
  transport::RegionId region = transport::kNoRegion;
  if (options.eager_bytes.count > 0) {
    if (eager->start() == nullptr) {
      return fail(ErrorCode::kExhausted, "cannot hold memory for early messages",
                  "the system gives no more address space", "lower eager_bytes");
    }
    Result<transport::RegionId> named = datapath->register_memory(eager->start(), eager->bytes());
    if (!named) return fail(named.error());
    region = *named;
  }
  Result<std::unique_ptr<events::Recorder>> recorder =
      open_recorder(options.recording, datapath->now(), datapath->local_address());
  if (!recorder) {
    if (region != transport::kNoRegion) datapath->unregister_memory(region);
    return fail(recorder.error());
  }
  if (*recorder) tell_nics(*datapath, datapath->now(), **recorder);
  auto body = std::make_shared<Body>(std::move(datapath), std::move(eager), region, options,
                                     std::move(*recorder));
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(body)));
}

Endpoint::~Endpoint() {
  if (body_->in_child()) {
    // The parent goes on with these descriptors and this memory's twin; locks may be held for ever.
    static_cast<void>(new std::shared_ptr<Body>(std::move(body_)));
    return;
  }
  body_->shut_down();
}

Result<Connection> Endpoint::connect(const transport::Address& peer,
                                     const ConnectionOptions& options) {
  if (body_->in_child()) return forked("cannot connect");
  return body_->connect(peer, options);
}

Result<void> Endpoint::wait_open(Connection connection, Nanos timeout) {
  body_->drive_until(
      [&] {
        const ConnectionStatus* status = body_->connections_.find(connection);
        return status == nullptr || status->state != ConnectionState::kOpening;
      },
      timeout);
  const ConnectionStatus now = status(connection);
  if (now.state == ConnectionState::kOpen) return {};
  if (now.state == ConnectionState::kClosed) return fail(now.error);
  return fail(ErrorCode::kTimeout, "cannot connect", "no answer in time", "is the peer running?");
}

std::optional<Connection> Endpoint::accept(Nanos timeout) {
  std::optional<Connection> taken;
  body_->drive_until(
      [&] {
        if (!taken) taken = body_->connections_.take_accepted();
        return taken.has_value();
      },
      timeout);
  return taken;
}

std::optional<Connection> Endpoint::take_accepted() {
  if (body_->in_child()) return std::nullopt;
  const Wheel::Lock lock = body_->wheel_.lock();
  return body_->connections_.take_accepted();
}

ConnectionStatus Endpoint::status(Connection connection) const {
  ConnectionStatus unknown{.state = ConnectionState::kClosed};
  unknown.error = {ErrorCode::kInvalid, "no such connection", "it was given back", ""};
  if (body_->in_child()) return unknown;
  const Wheel::Lock lock = body_->wheel_.lock();
  const ConnectionStatus* found = body_->connections_.find(connection);
  return found == nullptr ? unknown : *found;
}

void Endpoint::begin_close(Connection connection) {
  if (!body_->in_child()) body_->close(connection);
}

Result<void> Endpoint::close(Connection connection, Nanos timeout) {
  if (body_->in_child()) return forked("cannot close a connection");
  body_->close(connection);
  const bool closed = body_->drive_until(
      [&] {
        const ConnectionStatus* status = body_->connections_.find(connection);
        return status == nullptr || status->state == ConnectionState::kClosed;
      },
      timeout);
  const ConnectionStatus last = status(connection);
  body_->abort(connection);
  if (closed && last.graceful) return {};
  if (closed) return fail(last.error);
  return fail(ErrorCode::kTimeout, "cannot close the connection gracefully",
              "the peer did not answer in time");
}

void Endpoint::abort(Connection connection) {
  if (!body_->in_child()) body_->abort(connection);
}

Result<Memory> Endpoint::register_memory(void* start, size_t bytes) {
  if (body_->in_child()) return forked("cannot register memory");
  Result<transport::RegionId> region = body_->register_region(start, bytes);
  if (!region) return fail(region.error());
  return Memory(body_, *region, static_cast<std::byte*>(start), bytes);
}

Result<Operation> Endpoint::send(Connection connection, Channel channel,
                                 const transport::Payload& payload, transport::AckWish wish) {
  return body_->post({.connection = connection, .channel = channel}, payload, {.wish = wish});
}

Result<Operation> Endpoint::receive(Connection connection, Channel channel,
                                    const transport::Payload& buffer, transport::Fill fill) {
  return body_->post(
      {.connection = connection, .channel = channel, .direction = Direction::kReceive}, buffer,
      {.fill = fill});
}

Result<Operation> Endpoint::post_unregistered(OperationPlace place, void* start, size_t bytes) {
  if (bytes == 0) return body_->post(place, {}, {});
  if (body_->in_child()) return forked("cannot post a message");
  Result<transport::RegionId> region = body_->register_region(start, bytes);
  if (!region) return fail(region.error());
  place.temporary = *region;
  Result<Operation> operation =
      body_->post(place, {.region = *region, .offset = 0, .length = bytes}, {});
  if (!operation) body_->unregister(*region);
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
  const Outcome outcome = body_->operations_.take(operation);
  if (outcome.done) return outcome;
  body_->turn_if_free();
  return body_->operations_.take(operation);
}

Outcome Endpoint::peek(Operation operation) { return body_->operations_.take(operation); }

void Endpoint::cancel(Operation operation) {
  if (!body_->in_child()) body_->cancel(operation);
}

void Endpoint::fill_at_once(Operation receive) {
  if (!body_->in_child()) body_->fill_at_once(receive);
}

void Endpoint::forget(Operation operation) { body_->operations_.forget(operation); }

void Endpoint::interrupt() {
  if (!body_->in_child()) body_->interrupt();
}

void Endpoint::set_companion(Companion* companion) {
  if (!body_->in_child()) body_->set_companion(companion);
}

int Endpoint::wake_descriptor() const { return body_->datapath_->wake_descriptor(); }

Nanos Endpoint::turn() { return body_->in_child() ? Nanos::never() : body_->turn_external(); }

Nanos Endpoint::helper_turn() {
  return body_->in_child() ? Nanos::never() : body_->look_external();
}

events::KindSet Endpoint::observed() const { return body_->observed_; }

Endpoint::Telling Endpoint::begin_telling() {
  return body_->in_child() ? Telling() : body_->begin_telling();
}

Nanos Endpoint::now() const { return body_->datapath_->now(); }

uint32_t Endpoint::burst_payload_bytes() const {
  return engine::burst_payload_bytes(capabilities(), body_->options_.transport.longest_burst,
                                     body_->transport_.keyed());
}

transport::Address Endpoint::local_address() const { return body_->datapath_->local_address(); }

std::vector<transport::Address> Endpoint::local_nics() const {
  return body_->datapath_->local_nics();
}

const datapath::Capabilities& Endpoint::capabilities() const {
  return body_->datapath_->capabilities();
}

Result<void> Endpoint::fix_paths(Connection connection, std::span<const uint16_t> paths) {
  if (body_->in_child()) return forked("cannot choose paths");
  return body_->fix_paths(connection, paths);
}

Result<void> Endpoint::find_ways(Connection connection) {
  if (body_->in_child()) return forked("cannot look for the ways of the fabric");
  return body_->find_ways(connection);
}

std::optional<transport::FabricWays> Endpoint::ways(Connection connection) const {
  const Wheel::Lock lock = body_->wheel_.lock();
  transport::FabricWays found;
  if (!body_->transport_.ways(connection, found)) return std::nullopt;
  return found;
}

Result<void> Endpoint::set_keys(std::span<const transport::ClusterKey> keys) {
  const Wheel::Lock lock = body_->wheel_.lock();
  if (keys.empty() || !body_->transport_.keyed()) {
    return fail(ErrorCode::kInvalid, "cannot change the cluster keys",
                keys.empty() ? "there are none" : "this endpoint was made without any",
                "make a new endpoint: whether packets are sealed does not change");
  }
  body_->transport_.set_keys(keys);
  return {};
}

uint16_t Endpoint::source_port(uint16_t path, uint8_t nic) const {
  const Wheel::Lock lock = body_->wheel_.lock_all();
  return body_->datapath_->source_port(path, nic);
}

transport::Statistics Endpoint::statistics() const {
  const Wheel::Lock lock = body_->wheel_.lock();
  return body_->transport_.statistics();
}

std::optional<transport::ConnectionStatistics> Endpoint::statistics(Connection connection) const {
  const Wheel::Lock lock = body_->wheel_.lock();
  const transport::ConnectionStatistics* found = body_->transport_.statistics(connection);
  if (found == nullptr) return std::nullopt;
  return *found;
}

std::vector<transport::PathStatistics> Endpoint::path_statistics(Connection connection) const {
  const Wheel::Lock lock = body_->wheel_.lock();
  return body_->transport_.path_statistics(connection);
}

datapath::DatapathStatistics Endpoint::datapath_statistics() const {
  const Wheel::Lock lock = body_->wheel_.lock_all();
  return body_->datapath_->statistics();
}

DriverStatistics Endpoint::driver_statistics() const {
  const Wheel::Lock lock = body_->wheel_.lock();
  return body_->driver_.statistics();
}

size_t Endpoint::bytes_held() const {
  const Wheel::Lock lock = body_->wheel_.lock();
  return body_->transport_.bytes_held();
}

}  // namespace heddle::engine
