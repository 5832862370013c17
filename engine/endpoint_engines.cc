// An endpoint with several engines: see endpoint_engines.h.
#include "engine/endpoint_engines.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/engine_options.h"
#include "transport/engine_budget.h"

namespace heddle::engine {

Result<void> Endpoint::Engines::start(
    const std::vector<std::shared_ptr<datapath::Datapath>>& datapaths, const Options& options,
    const BodyShares& shares) {
  const auto count = static_cast<uint8_t>(datapaths.size());
  const auto budget = std::make_shared<transport::EngineBudget>();
  for (uint8_t index = 0; index < count; ++index) {
    Options own = engine_options(options, {.index = index, .count = count});
    own.transport.budget = budget;
    Result<EagerMemory> eager = EagerMemory::create(datapaths[index], own.eager_bytes);
    if (!eager) return fail(eager.error());
    bodies_.push_back(
        std::make_shared<Body>(datapaths[index], std::move(*eager), own, shares, this));
  }
  // An engine may accept connections as soon as it has started, so all are there before.
  for (size_t started = 0; started < bodies_.size(); ++started) {
    Result<void> done = bodies_[started]->start();
    if (done) continue;
    while (started > 0) bodies_[--started]->shut_down();
    return done;
  }
  return {};
}

void Endpoint::Engines::shut_down() {
  for (const std::shared_ptr<Body>& body : bodies_) body->shut_down();
}

Endpoint::Body& Endpoint::Engines::of(Connection connection) const {
  const uint32_t index = connection & bodies_.front()->options_.transport.engine.mask();
  return *bodies_[index < bodies_.size() ? index : 0];
}

Endpoint::Body& Endpoint::Engines::of(Operation operation) const {
  const uint32_t index = OperationTable::engine_of(operation);
  return *bodies_[index < bodies_.size() ? index : 0];
}

Endpoint::Body& Endpoint::Body::engine_of(Connection connection) {
  return engines_->of(connection);
}
Endpoint::Body& Endpoint::Body::engine_of(Operation operation) { return engines_->of(operation); }

transport::Payload Endpoint::Body::local_of(const transport::Payload& payload) const {
  return engines_->local(payload, options_.transport.engine.index);
}

// --- connections ---

Result<Connection> Endpoint::Engines::connect(const transport::Address& peer,
                                              const ConnectionOptions& options) {
  const OwnMutex::Lock connecting = connecting_.lock();
  Body* fewest = nullptr;
  uint32_t least = UINT32_MAX;
  for (const std::shared_ptr<Body>& body : bodies_) {
    const EndpointLock::Lock lock = body->state_lock_.lock();
    const uint32_t count = body->transport_.connections();
    if (count >= least) continue;
    fewest = body.get();
    least = count;
  }
  return fewest->connect(peer, options);
}

std::optional<Connection> Endpoint::Engines::take_accepted() {
  while (true) {
    uint8_t index = 0;
    {
      const OwnMutex::Lock lock = mutex_.lock();
      if (accepted_.empty()) return std::nullopt;
      index = accepted_.pop_front();
    }
    // Nothing if it closed while it was queued.
    if (std::optional<Connection> taken = bodies_[index]->take_accepted()) return taken;
  }
}

std::optional<Connection> Endpoint::Engines::accept(Nanos timeout) {
  const Nanos began = bodies_.front()->datapath_->now();
  while (true) {
    const uint64_t before = noted_.load();
    if (std::optional<Connection> taken = take_accepted()) return taken;
    const Nanos passed = bodies_.front()->datapath_->now() - began;
    const bool forever = timeout == Nanos::never();
    if (!forever && passed >= timeout) return take_accepted();
    wait_for_change(before, forever ? timeout : timeout - passed);
  }
}

void Endpoint::Engines::note_accepted(uint8_t index) {
  const OwnMutex::Lock lock = mutex_.lock();
  accepted_.push_back(index);
}

// --- memory ---

Result<Memory> Endpoint::Engines::register_memory(const Body::Registered& range) {
  SharedRegions::Locals locals;
  locals.fill(transport::kNoRegion);
  Unexpected error = fail(ErrorCode::kExhausted, "cannot register memory",
                          "too many ranges are registered", "unregister some first");
  transport::RegionId region = transport::kNoRegion;
  size_t registered = 0;
  for (; registered < bodies_.size(); ++registered) {
    Result<transport::RegionId> local = bodies_[registered]->register_region(range);
    if (!local) {
      error = fail(local.error());
      break;
    }
    locals[registered] = *local;
  }
  if (registered == bodies_.size()) region = regions_.add(locals);
  if (region != transport::kNoRegion) {
    return Memory(weak_from_this(), region, static_cast<std::byte*>(range.memory.mapping),
                  range.bytes);
  }
  while (registered-- > 0) bodies_[registered]->unregister(locals[registered]);
  return error;
}

void Endpoint::Engines::unregister(transport::RegionId region) {
  // Memory handles are destroyed automatically, also in a child of fork().
  if (mutex_.in_child()) return;
  const SharedRegions::Locals& locals = regions_.at(region);
  for (size_t i = 0; i < bodies_.size(); ++i) bodies_[i]->unregister(locals[i]);
  regions_.remove(region);
}

transport::Payload Endpoint::Engines::local(const transport::Payload& payload,
                                            uint8_t index) const {
  if (payload.region == transport::kNoRegion) return payload;
  transport::Payload own = payload;
  own.region = regions_.at(payload.region)[index];
  return own;
}

// --- changes ---

void Endpoint::Engines::note_change() {
  noted_.fetch_add(1);
  if (waiting_.load() == 0) return;
  {
    // A waiting thread has counted itself and compares noted_ under the mutex, so it sees the
    // change or the notification.
    const OwnMutex::Lock lock = mutex_.lock();
  }
  changed_.notify_all();
}

bool Endpoint::Engines::wait_for_change(uint64_t before, Nanos timeout) {
  constexpr Nanos kMost = seconds(3600);  // the clock's arithmetic overflows with Nanos::never()
  waiting_.fetch_add(1);
  bool changed = false;
  {
    OwnMutex::Lock lock = mutex_.lock();
    do {
      changed = changed_.wait_for(lock, std::chrono::nanoseconds(std::min(timeout, kMost).count),
                                  [this, before] { return noted_.load() != before; });
    } while (!changed && timeout == Nanos::never());
  }
  waiting_.fetch_sub(1);
  return changed;
}

bool Endpoint::Engines::take_changes() {
  const uint64_t now = noted_.load();
  return seen_.exchange(now) != now;
}

bool Endpoint::Engines::progress(Nanos timeout) {
  return take_changes() || (wait_for_change(seen_.load(), timeout) && take_changes());
}

}  // namespace heddle::engine
