// RankProgram: one rank of a simulated job. It makes its communicators, has each kind of its calls
// open its connections before time 0, and then does what its program says. Collectives are the
// production's; only the contents of the buffers mean nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/sim/job_outcome.h"
#include "collectives/communicator.h"
#include "simulator/engine_process.h"
#include "topology/job.h"

namespace heddle::cli {

// What the ranks of a job share.
struct JobSurroundings {
  const topology::Job& job;
  JobOutcome& outcome;
  std::byte* buffer = nullptr;  // of every call; two of `buffer_bytes` one after the other
  uint64_t buffer_bytes = 0;
  collectives::Tuning tuning;
  std::vector<transport::Address> addresses;   // of the ranks
  std::vector<uint64_t> communicators;         // their numbers
  std::vector<std::vector<uint32_t>> rank_in;  // by communicator and rank of the job
  uint64_t progress = 0;                       // grows whenever a call ends or a rank goes on
  Nanos zero = Nanos::never();                 // time 0
};

// The bytes of a call in whole elements, and blocks where there are some.
uint64_t whole_bytes(const topology::Action& action, uint64_t ranks);

class RankProgram : public simulator::EngineProgram, private simulator::Agent {
 public:
  // `surroundings` outlive it. It waits for begin() when it is ready.
  RankProgram(JobSurroundings& surroundings, uint32_t rank, simulator::EngineProcess& process);
  ~RankProgram() override;
  RankProgram(const RankProgram&) = delete;
  RankProgram& operator=(const RankProgram&) = delete;

  bool ready() const { return phase_ != Phase::kOpening; }
  void begin(Nanos at);
  // It has done all, or failed.
  bool done() const { return phase_ == Phase::kDone; }
  bool computing() const { return phase_ == Phase::kWorking && computes_until_ != Nanos{}; }
  // What it waits for, in words.
  std::string waits_for() const;
  void fail(const std::string& why);

 private:
  enum class Phase : uint8_t { kOpening, kReady, kWorking, kDone };
  struct UnderWay {
    collectives::Request request;
    uint32_t label = topology::kNoLabel;
    uint32_t place = 0;  // of its communicator
    uint32_t call = 0;   // in the outcome; unused for messages
    const topology::Action* action = nullptr;
  };

  bool handle_turn(simulator::EngineProcess& process) override;
  void run(Nanos now) override;
  void make_communicators();
  void open_connections();
  bool advance();
  bool reap();
  bool go_on();
  bool act();
  bool must_wait() const;
  void end_step();
  uint64_t ranks_of(const topology::Action& action) const;
  collectives::Call call_of(const topology::Action& action) const;
  bool post(const topology::Action& action, bool opens);
  void note_called(const topology::Action& action, UnderWay& made);
  void note_ended(const UnderWay& ended);
  Nanos now() const;
  const topology::Program& program() const;

  JobSurroundings& all_;
  const uint32_t rank_;
  simulator::EngineProcess& process_;
  simulator::AgentId agent_;
  std::shared_ptr<collectives::Links> links_;
  std::vector<std::unique_ptr<collectives::Communicator>> communicators_;  // by their place
  std::vector<uint32_t> calls_;                                            // made on each
  std::vector<UnderWay> under_way_;
  Phase phase_ = Phase::kOpening;
  Nanos begins_at_;
  Nanos computes_until_;  // zero: it does not
  bool waits_ = false;
  uint32_t awaited_ = topology::kNoLabel;
  Nanos waits_since_;
  uint32_t step_ = 0;
  size_t next_ = 0;  // action
  bool in_step_ = false;
  Nanos computed_;  // in this step
  Nanos exposed_;
};

}  // namespace heddle::cli
