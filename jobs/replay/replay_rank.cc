// A rank on a real host: see replay_rank.h.
#include "jobs/replay/replay_rank.h"

#include <algorithm>
#include <utility>

#include "base/interrupt.h"
#include "engine/process_recording.h"
#include "jobs/params.h"

namespace heddle::jobs {
namespace {

// That a rank computes without a call, the end of one step and the beginning of the next together.
Nanos longest_computing(const topology::Job& job) {
  Nanos longest;
  for (const topology::Program& program : job.programs) {
    Nanos span;
    for (const topology::Action& action : program.actions) {
      const bool computes = action.kind == topology::ActionKind::kCompute;
      span = computes ? span + action.span : Nanos{};
      longest = std::max(longest, span);
    }
  }
  return 2 * longest;
}

// Then nothing depends on what a communicator measures.
bool names_all_algorithms(const topology::Job& job) {
  for (const topology::Program& program : job.programs) {
    for (const topology::Action& action : program.actions) {
      const bool collective =
          action.kind == topology::ActionKind::kCall && !topology::between_two(action.call);
      if (collective && !action.algorithm) return false;
    }
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<ReplayRank>> ReplayRank::create(
    const ReplaySeat& seat, const collectives::CommunicatorOptions& options,
    std::vector<transport::Address> addresses) {
  std::unique_ptr<ReplayRank> made(new ReplayRank(seat));
  const uint64_t buffer_bytes = largest_call(made->job_) + 64;
  Result<MirroredMemory> memory = MirroredMemory::create(2 * buffer_bytes);
  if (!memory) return fail(memory.error());
  made->memory_ = std::move(*memory);
  made->outcome_.calls.resize(made->job_.communicators.size());
  made->surroundings_ = std::make_unique<JobSurroundings>(
      JobSurroundings{.job = made->job_,
                      .outcome = made->outcome_,
                      .buffer = made->memory_.start(),
                      .buffer_bytes = buffer_bytes,
                      .options = options,
                      .tuning_is_final = false,
                      .addresses = std::move(addresses),
                      .communicators = communicator_numbers(seat.workload.jobs, seat.job),
                      .rank_in = ranks_in_communicators(made->job_)});
  collectives::Tuning& tuning = made->surroundings_->options.tuning;
  if (made->job_.chunk.count > 0) {
    tuning.chunk_bytes = static_cast<uint32_t>(made->job_.chunk.count);
  }
  if (names_all_algorithms(made->job_)) tuning.to_be_measured = false;
  made->program_.reset(new RankProgram(*made->surroundings_, seat.rank, *made));
  made->program_->attend();
  return made;
}

ReplayRank::ReplayRank(const ReplaySeat& seat)
    : job_(seat.workload.jobs[seat.job]),
      endpoint_(seat.endpoint),
      sent_(seat.sent),
      stuck_after_(params::kReplayStuckAfter + longest_computing(job_)),
      progress_at_(endpoint_.now()) {}

void ReplayRank::on_step(uint32_t step) { engine::mark("step", step); }

Result<void> ReplayRank::open() {
  engine::mark("opening", 0);
  while (!program_->ready()) {
    if (Result<void> turned = turn(); !turned) return turned;
  }
  return {};
}

Result<void> ReplayRank::run(Nanos zero) {
  zero_ = zero;
  program_->begin(job_.start);
  while (!program_->done()) {
    if (Result<void> turned = turn(); !turned) return turned;
  }
  // Notifies the other ranks at once, so that they do not wait for this one.
  if (!outcome_.error.empty()) program_.reset();
  engine::mark("results", 0);
  return {};
}

Result<void> ReplayRank::turn() {
  if (interrupted() != 0) {
    return fail(ErrorCode::kCancelled, "the workload was stopped", "by a signal");
  }
  if (program_->step(endpoint_)) return {};
  if (stuck()) {
    program_->fail("waits for ever: " + program_->waits_for());
    return {};
  }
  const Nanos at = endpoint_.now();
  if (wake_ <= at) {
    wake_ = Nanos::never();
    return {};
  }
  // A busy machine gives the processor back late, and who computes keeps it.
  const Nanos awake_from = wake_ == Nanos::never() ? wake_ : wake_ - params::kShortSleep;
  const Nanos until = std::min({awake_from, program_->attend_again_at(), at + params::kSignalLook});
  endpoint_.progress(std::max(Nanos{}, until - at));
  return {};
}

// Nothing ended and nothing arrived for long, and it does not compute.
bool ReplayRank::stuck() {
  const uint64_t progress = surroundings_->progress + sent_.bytes_acked();
  const Nanos at = endpoint_.now();
  const bool idle = wake_ != Nanos::never() || program_->computing();
  if (std::exchange(progress_seen_, progress) != progress || idle) progress_at_ = at;
  return at - progress_at_ >= stuck_after_;
}

}  // namespace heddle::jobs
