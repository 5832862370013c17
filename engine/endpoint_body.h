// Endpoint::Body: the state behind engine/endpoint.h and how its threads share it. Only
// endpoint*.cc include this. Calls that touch only the transport take wheel_.lock(); those that
// touch the datapath, lock_all(). At most one thread leads: it gives turns and sleeps in the
// datapath; others follow on changed_.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/own_mutex.h"
#include "base/thread.h"
#include "datapath/datapath.h"
#include "engine/cores.h"
#include "engine/eager_memory.h"
#include "engine/endpoint.h"
#include "engine/helper_thread.h"
#include "engine/spin_budget.h"
#include "engine/takeover.h"
#include "engine/wheel.h"
#include "events/recording.h"
#include "events/stamp_clock.h"
#include "events/tee_sink.h"
#include "transport/endpoint.h"

namespace heddle::engine {

class Endpoint::Body final : public Registrar,
                             public HelperClient,
                             public std::enable_shared_from_this<Endpoint::Body> {
 public:
  // `eager_region` names `eager` in the datapath, kNoRegion where there is none.
  Body(std::shared_ptr<datapath::Datapath> datapath, std::unique_ptr<EagerMemory> eager,
       transport::RegionId eager_region, const Options& options,
       std::unique_ptr<events::Recorder> recorder);
  ~Body() override;

  // Starts what drives it; from now on other threads look at it. Errors: kExhausted (no thread);
  // then none does.
  Result<void> start();
  // Aborts all connections, tells the peers, and stops what drives it.
  void shut_down();

  // --- endpoint.cc ---
  Result<Connection> connect(const transport::Address& peer, const ConnectionOptions& options);
  Result<void> fix_paths(Connection connection, std::span<const uint16_t> paths);
  Result<void> find_ways(Connection connection);
  void close(Connection connection);
  void abort(Connection connection);
  // How it is posted: the acknowledgement of sends, the filling of receives.
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
  Result<transport::RegionId> register_region(void* start, size_t bytes);
  void unregister(transport::RegionId region) override;

  // --- endpoint_observed.cc ---
  // With the time of events that come now.
  Telling begin_telling();

  // --- endpoint_drive.cc ---
  // Drives or follows until `done` holds or `timeout` passed; `done` is called under the lock.
  // Returns it.
  bool drive_until(const std::function<bool()>& done, Nanos timeout);
  // One turn where nobody else drives.
  void turn_if_free();
  Nanos turn_external();
  Nanos look_external();
  Look helper_look() override;
  int descriptor() const override { return datapath_->descriptor(); }
  void interrupt();
  void set_companion(Companion* companion);
  // Spins for a moment on an operation that another thread will finish.
  void spin_for(Operation operation);
  // The time, never before the last turn's.
  Nanos stamp();

  const Options options_;
  const std::unique_ptr<events::Recorder> recorder_;  // may be null
  events::TeeSink sinks_;                             // what the options name, and the recorder
  const std::shared_ptr<datapath::Datapath> datapath_;
  const std::unique_ptr<EagerMemory> eager_;
  const transport::RegionId eager_region_;
  events::Sink* const sink_;  // of the two above; null: nothing is observed
  const events::KindSet observed_;
  OperationTable operations_;
  Wheel wheel_;
  transport::Endpoint transport_;
  Driver driver_;
  ConnectionTable connections_;
  uint64_t changes_ = 0;       // operations ended, notices, interrupts
  uint64_t changes_seen_ = 0;  // by progress()

 private:
  // Of a wait.
  struct Span {
    Nanos began;
    Nanos deadline;
  };

  // With the datapath at hand.
  void unregister_region(transport::RegionId region);
  Nanos turn();
  void take_results();
  bool companion_came();
  bool turn_is_due(Nanos now) const;
  void sleep(Wheel::Lock& lock, Nanos until);
  // `now` is when the call that posted something came, or ended a batch of several posts.
  void after_post(Wheel::Lock& lock, Nanos now, uint32_t posts = 1);
  void lead(Wheel::Lock& lock, const std::function<bool()>& done, const Span& span, int cores_kept);
  void yield_core();
  bool may_spin(const SpinLeave& leave, Nanos idle) const;
  void spin(Wheel::Lock& lock, Nanos idle);
  Result<void> start_thread();
  void tell_followers();
  Nanos stamp_to_record();
  void tell_stamps_error(Nanos now);
  void follow(Wheel::Lock& lock, Nanos most);

  Takeover takeover_;
  SpinBudget spin_budget_;
  std::optional<events::StampClock> stamp_clock_;  // where the recording names a clock
  Nanos stamps_told_;                              // when its error was
  bool core_is_wanted_ = false;                    // by another thread, as the last yield told
  Companion* companion_ = nullptr;
  Nanos wanted_;  // when the next turn is, as the latest answered
  bool leading_ = false;
  int batches_ = 0;
  uint32_t batch_posts_ = 0;  // in those that have not ended
  int followers_ = 0;
  bool stopping_ = false;
  bool helped_ = false;
  bool helper_parked_ = false;  // it will not look again before it is nudged
  transport::Notice notice_;    // for take_results()
  OwnMutex follow_mutex_;       // taken inside the wheel's, never the other way round
  uint64_t told_ = 0;           // under follow_mutex_: times that followers were told
  std::condition_variable changed_;
  Thread thread_;
};

}  // namespace heddle::engine
