// ReplayRank: a rank of a workload's job on a real host. It drives its endpoint, and a RankProgram
// on it; what the program computes is waited for.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/endpoint.h"
#include "jobs/mirrored_memory.h"
#include "jobs/rank_program.h"
#include "jobs/replay/sent_counter.h"
#include "topology/workload.h"

namespace heddle::jobs {

// Which rank of which job it is, and what it runs on. All of it outlives the rank.
struct ReplaySeat {
  const topology::Workload& workload;
  uint32_t job = 0;
  uint32_t rank = 0;
  engine::Endpoint& endpoint;
  const SentCounter& sent;
};

class ReplayRank : private RankSurface {
 public:
  // `addresses`: of the job's ranks. Errors: kExhausted.
  static Result<std::unique_ptr<ReplayRank>> create(const ReplaySeat& seat,
                                                    const collectives::CommunicatorOptions& options,
                                                    std::vector<transport::Address> addresses);

  // Makes communicators and opens connections. What fails is in the outcome. Errors: kCancelled.
  Result<void> open();
  // Does what the program says, from `zero` on as the endpoint's clock has it. Errors: kCancelled.
  Result<void> run(Nanos zero);
  const JobOutcome& outcome() const { return outcome_; }

 private:
  explicit ReplayRank(const ReplaySeat& seat);
  // From time 0, which is before all while it has not come.
  Nanos now() const override { return zero_ == Nanos{} ? Nanos{} : endpoint_.now() - zero_; }
  void wake_at(Nanos at) override { wake_ = zero_ + at; }
  void on_step(uint32_t step) override;
  Result<void> turn();
  bool stuck();

  const topology::Job& job_;
  engine::Endpoint& endpoint_;
  const SentCounter& sent_;
  const Nanos stuck_after_;
  MirroredMemory memory_;
  JobOutcome outcome_;
  std::unique_ptr<JobSurroundings> surroundings_;
  std::unique_ptr<RankProgram> program_;
  Nanos zero_;
  Nanos wake_ = Nanos::never();
  uint64_t progress_seen_ = 0;
  Nanos progress_at_;
};

}  // namespace heddle::jobs
