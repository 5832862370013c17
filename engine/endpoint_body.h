// Endpoint::Body: the state behind engine/endpoint.h and how threads share it. Only endpoint*.cc
// include it. Calls that touch only the transport take state_lock_.lock(); calls that touch the
// datapath take lock_all(). At most one thread leads: it runs turns and sleeps in the datapath. The
// others follow: they wait in followers_.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/thread.h"
#include "datapath/datapath.h"
#include "engine/cores.h"
#include "engine/eager_memory.h"
#include "engine/endpoint.h"
#include "engine/endpoint_lock.h"
#include "engine/endpoint_sink.h"
#include "engine/followers.h"
#include "engine/helper_thread.h"
#include "engine/idle_spin.h"
#include "engine/plan_follower.h"
#include "engine/takeover.h"
#include "transport/endpoint.h"

namespace heddle::engine {

// What the engines of an endpoint have in common.
struct BodyShares {
  std::shared_ptr<EndpointSink> sink;
  std::shared_ptr<SharedPlan> plan;  // null: there is none to follow
};

class Endpoint::Body final : public Registrar,
                             public HelperClient,
                             public std::enable_shared_from_this<Endpoint::Body> {
 public:
  // `engines`: of which it is one; null: it is the only one.
  Body(std::shared_ptr<datapath::Datapath> datapath, EagerMemory eager, const Options& options,
       const BodyShares& shares, Engines* engines = nullptr);

  // --- its fellow engines, which endpoint_engines.h joins ---
  Engines* engines() const { return engines_; }
  // The engine that has this connection or operation.
  template <typename Handle>
  Body& of(Handle handle) {
    return engines_ == nullptr ? *this : engine_of(handle);
  }
  // The payload as the datapath of this engine calls it.
  transport::Payload local(const transport::Payload& payload) const {
    return engines_ == nullptr ? payload : local_of(payload);
  }

  // Starts the driving or helper thread; from now on other threads access the endpoint. Errors:
  // kExhausted (no thread); then no other thread does.
  Result<void> start();
  // Aborts all connections, notifies the peers, and stops the thread that start() started.
  void shut_down();

  // --- endpoint.cc ---
  Result<Connection> connect(const transport::Address& peer, const ConnectionOptions& options);
  Result<void> fix_paths(Connection connection, std::span<const uint16_t> paths);
  Result<void> find_routes(Connection connection);
  std::optional<Connection> take_accepted();
  void close(Connection connection);
  void abort(Connection connection);
  // How a message is posted: an ack policy for sends, a fill mode for receives.
  struct Manner {
    transport::AckPolicy ack_policy = transport::AckPolicy::kPrompt;
    transport::Fill fill = transport::Fill::kAtOnce;
  };
  Result<Operation> post(const OperationPlace& place, const transport::Payload& payload,
                         const Manner& manner);
  void begin_batch();
  void end_batch();
  void cancel(Operation operation);
  void fill_at_once(Operation receive);
  // Memory of the host, or of a device.
  struct Registered {
    datapath::DeviceMemory memory;  // without a dmabuf: of the host, at its mapping
    size_t bytes = 0;
  };
  Result<transport::RegionId> register_region(const Registered& range);
  void unregister(transport::RegionId region) override;

  // --- endpoint_observed.cc ---
  // Locks the sink; holds the time stamp of the event to emit.
  SinkAccess lock_sink();

  // --- endpoint_drive.cc ---
  // Leads or follows until `done` returns true or `timeout` has passed; `done` is called under the
  // lock. Returns its last value.
  bool drive_until(const std::function<bool()>& done, Nanos timeout);
  // Runs one turn unless another thread drives.
  void turn_if_free();
  Nanos turn_external();
  Nanos look_external();
  Look helper_look() override;
  int descriptor() const override { return datapath_->descriptor(); }
  void interrupt();
  void set_poll_source(PollSource* poll_source);
  // Spins for up to spin_limit on an operation that the driving thread completes.
  void spin_for(Operation operation);
  // The current time, at least the last turn's.
  Nanos stamp();

  const Options options_;
  const std::shared_ptr<EndpointSink> sink_;
  const std::shared_ptr<datapath::Datapath> datapath_;
  const EagerMemory eager_;
  OperationTable operations_;
  EndpointLock state_lock_;
  transport::Endpoint transport_;
  Driver driver_;
  ConnectionTable connections_;
  PlanFollower plan_follower_;

  // Operations ended, notices, interrupts. take() returns whether there were any since the last.
  struct Changes {
    void note() { ++noted; }
    bool take() { return std::exchange(seen, noted) != noted; }
    uint64_t noted = 0;
    uint64_t seen = 0;
  };
  Changes changes_;

 private:
  // The time span of a wait.
  struct Span {
    Nanos began;
    Nanos deadline;
  };

  Body& engine_of(Connection connection);
  Body& engine_of(Operation operation);
  transport::Payload local_of(const transport::Payload& payload) const;
  void on_changes();
  // The caller holds lock_all().
  void unregister_region(transport::RegionId region);
  Nanos turn();
  void take_results();
  bool poll_source_ready();
  bool turn_is_due(Nanos now) const;
  void sleep(EndpointLock::Lock& lock, Nanos until);
  // `now` is the time of the call that posted, or that ended a batch of several posts.
  void after_post(EndpointLock::Lock& lock, Nanos now, uint32_t posts = 1);
  void lead(EndpointLock::Lock& lock, const std::function<bool()>& done, const Span& span,
            int cores_kept);
  Result<void> start_thread();

  Engines* const engines_;
  Takeover takeover_;
  IdleSpin idle_spin_;
  PollSource* poll_source_ = nullptr;
  Nanos wanted_;  // the next turn's time, as the latest turn returned
  bool leading_ = false;
  struct Batches {
    int open = 0;
    uint32_t posts = 0;  // in batches that have not ended
  };
  Batches batches_;
  bool stopping_ = false;
  bool helped_ = false;
  bool helper_parked_ = false;  // it sleeps until it is nudged
  transport::Notice notice_;    // for take_results()
  Followers followers_;
  Thread thread_;
};

}  // namespace heddle::engine
