// Endpoint::Engines: an endpoint with several engines. Each engine is a Body with a datapath, a
// transport and a thread of its own, and has the connections whose ids name it
// (transport/engine_share.h). They share the accept queue, the changes that end progress(), the
// sink, the plan, the budget of limits, and registered memory. Only endpoint*.cc include it. Its
// locks are taken while an engine's lock is held, never before one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/own_mutex.h"
#include "base/ring.h"
#include "engine/endpoint_body.h"
#include "engine/shared_regions.h"

namespace heddle::engine {

class Endpoint::Engines final : public Registrar,
                                public std::enable_shared_from_this<Endpoint::Engines> {
 public:
  // Makes and starts an engine for each datapath. Errors: those of Endpoint::create().
  Result<void> start(const std::vector<std::shared_ptr<datapath::Datapath>>& datapaths,
                     const Options& options, const BodyShares& shares);
  void shut_down();

  std::span<const std::shared_ptr<Body>> all() const { return bodies_; }
  // The engine that this id names; any for an id that names none.
  Body& of(Connection connection) const;
  Body& of(Operation operation) const;

  // On the engine with the fewest connections.
  Result<Connection> connect(const transport::Address& peer, const ConnectionOptions& options);
  std::optional<Connection> accept(Nanos timeout);
  std::optional<Connection> take_accepted();

  Result<Memory> register_memory(const Body::Registered& range);
  void unregister(transport::RegionId region) override;
  // The payload as the datapath of engine `index` calls it.
  transport::Payload local(const transport::Payload& payload, uint8_t index) const;

  bool progress(Nanos timeout);
  bool take_changes();

  // --- any thread; engines call these ---
  void note_change();
  void note_accepted(uint8_t index);

 private:
  // Waits until more than `before` changes were noted or `timeout` has passed.
  bool wait_for_change(uint64_t before, Nanos timeout);

  SharedRegions regions_;
  std::vector<std::shared_ptr<Body>> bodies_;
  OwnMutex connecting_;
  std::atomic<uint64_t> noted_ = 0;  // changes
  std::atomic<uint64_t> seen_ = 0;   // of these, by progress() and take_changes()
  std::atomic<int> waiting_ = 0;
  OwnMutex mutex_;
  Ring<uint8_t> accepted_;  // the engines of accepted connections, in their order; under mutex_
  std::condition_variable changed_;
};

// Calls `visit` with each body of the endpoint of `body`.
template <typename Body, typename Visit>
void for_each_engine(Body& body, Visit visit) {
  if (body.engines() == nullptr) return visit(body);
  for (const auto& each : body.engines()->all()) visit(*each);
}

}  // namespace heddle::engine
