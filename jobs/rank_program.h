// RankProgram: one rank of a job. It creates its communicators, opens the connections of each kind
// of its calls before time 0, and then executes its program. The driver of the rank's endpoint
// calls step(), in the simulator and on real hosts. The contents of the buffers are arbitrary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "engine/endpoint.h"
#include "jobs/outcome.h"
#include "jobs/pending_actions.h"
#include "jobs/program_wait.h"
#include "topology/job.h"

namespace heddle::jobs {

// What the ranks of a job share.
struct JobSurroundings {
  const topology::Job& job;
  JobOutcome& outcome;
  std::byte* buffer = nullptr;  // of every call; two of `buffer_bytes` one after the other
  uint64_t buffer_bytes = 0;
  collectives::CommunicatorOptions options;
  // Algorithms that a job leaves open are chosen with options.tuning; else with what communicators
  // come to agree on, which has to be waited for.
  bool tuning_is_final = true;
  std::vector<transport::Address> addresses;   // of the ranks
  std::vector<uint64_t> communicators;         // their numbers
  std::vector<std::vector<uint32_t>> rank_in;  // by communicator and rank of the job
  uint64_t progress = 0;                       // grows whenever a call ends or a rank goes on
};

// What a rank lives in. Times count from time 0.
class RankSurface {
 public:
  virtual ~RankSurface() = default;
  virtual Nanos now() const = 0;
  // It wants step() then, whatever else happens.
  virtual void wake_at(Nanos at) = 0;
  // It has come to a step of its job.
  virtual void on_step(uint32_t step) = 0;
};

// The bytes of a call in whole elements, and blocks where there are some.
uint64_t whole_bytes(const topology::Action& action, uint64_t ranks);
// What the largest call of a job needs of either buffer.
uint64_t largest_call(const topology::Job& job);
// Of the communicators of a workload's job, which rise from job to job.
std::vector<uint64_t> communicator_numbers(std::span<const topology::Job> jobs, size_t job);
// A job's places by communicator and rank, as JobSurroundings wants them.
std::vector<std::vector<uint32_t>> ranks_in_communicators(const topology::Job& job);

class RankProgram {
 public:
  // Both outlive it. It waits for begin() when it is ready.
  RankProgram(JobSurroundings& surroundings, uint32_t rank, RankSurface& surface);
  RankProgram(const RankProgram&) = delete;
  RankProgram& operator=(const RankProgram&) = delete;

  // Does what can be done without waiting, on the endpoint that has this rank's address, always the
  // same; true: something was.
  bool step(engine::Endpoint& endpoint);
  // When step() must be called next without an event; for ranks on real hosts, whose communicators
  // send requests to ranks that calls wait for.
  Nanos attend_again_at() const { return attend_at_; }
  // step() calls Communicator::attend(), for owners that sleep between two steps.
  void attend() { attends_ = true; }

  bool ready() const { return phase_ != Phase::kOpening; }
  void begin(Nanos at);
  // It has done all, or failed.
  bool done() const { return phase_ == Phase::kDone; }
  bool computing() const { return phase_ == Phase::kWorking && pending_.computing(); }
  // What it waits for, in words.
  std::string waits_for() const;
  void fail(const std::string& why);

 private:
  enum class Phase : uint8_t { kOpening, kReady, kWorking, kDone };
  static constexpr uint32_t kOpens = UINT32_MAX;  // for the number of a call that opens connections

  struct UnderWay {
    collectives::Request request;
    uint32_t label = topology::kNoLabel;
    uint32_t place = 0;   // of its communicator
    uint32_t call = 0;    // in the outcome; unused for messages
    uint32_t number = 0;  // of the pending actions
    const topology::Action* action = nullptr;
  };

  void make_communicators(engine::Endpoint& endpoint);
  bool knows_tunings() const;
  void open_connections();
  bool advance();
  bool reap();
  bool go_on();
  bool start_pending();
  void arm();
  bool act();
  const UnderWay* awaited() const;
  void wait_for(uint32_t label, bool computes);
  bool must_wait();
  void report_progress();
  void end_step();
  uint64_t ranks_of(const topology::Action& action) const;
  collectives::Call call_of(const topology::Action& action) const;
  bool post(const topology::Action& action, uint32_t number);
  void note_called(const topology::Action& action, UnderWay& made);
  void note_ended(const UnderWay& ended);
  Nanos now() const { return surface_.now(); }
  std::optional<collectives::Algorithm> chosen(const topology::Action& action) const;
  const topology::Program& program() const;

  JobSurroundings& all_;
  const uint32_t rank_;
  RankSurface& surface_;
  std::shared_ptr<collectives::Links> links_;
  std::vector<std::unique_ptr<collectives::Communicator>> communicators_;  // by their place
  std::vector<uint32_t> calls_;                                            // made on each
  std::vector<UnderWay> under_way_;
  Phase phase_ = Phase::kOpening;
  bool opened_ = false;  // what opens connections has been called
  bool attends_ = false;
  bool again_ = true;  // the last step did something, which may make more possible
  Nanos attend_at_ = Nanos::never();
  Nanos begins_at_;
  PendingActions pending_;
  Nanos armed_for_;
  ProgramWait wait_;
  collectives::Request reported_;  // the call of the latest wait event
  uint32_t reported_place_ = 0;    // of its communicator
  uint32_t step_ = 0;
  size_t next_ = 0;  // action
  bool in_step_ = false;
};

}  // namespace heddle::jobs
