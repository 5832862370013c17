// SimulatedJobs: the jobs of a workload in the world of a FlowRun: a process a rank, with the
// production's communicators over the engine, or over the run's RoCE NICs. Flows and jobs share
// hosts' NICs and the fabric, and time 0.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "insight/matrix.h"
#include "jobs/mirrored_memory.h"
#include "jobs/outcome.h"
#include "jobs/simulated/rank_sink.h"
#include "jobs/simulated/rank_trace.h"
#include "jobs/simulated/roce_carrier.h"
#include "jobs/simulated/simulated_rank.h"
#include "simulator/flow_run.h"

namespace heddle::jobs {

struct SimulatedJobsOptions {
  bool counts_pairs = false;  // for SimulatedJobs::matrix()
  // Called once for each rank: the sink of its events, valid until the SimulatedJobs is destroyed;
  // empty, or null: none.
  std::function<events::Sink*(size_t job, uint32_t rank)> sink_of;
};

class SimulatedJobs : public simulator::Tenant, private simulator::Agent {
 public:
  // Before the run's first advance(); it must go before the run does. Errors: kExhausted.
  static Result<std::unique_ptr<SimulatedJobs>> create(simulator::FlowRun& run,
                                                       const SimulatedJobsOptions& options);
  ~SimulatedJobs() override;
  SimulatedJobs(const SimulatedJobs&) = delete;
  SimulatedJobs& operator=(const SimulatedJobs&) = delete;

  const std::vector<topology::Job>& jobs() const { return run_.workload().jobs; }
  const std::vector<JobOutcome>& outcomes() const { return outcomes_; }
  // What the ranks of a job delivered to each other since time 0; nothing where it was not counted.
  std::optional<insight::Matrix> matrix(size_t job) const;
  // Every rank of every job has done all.
  bool all_done() const;
  // Of all steps of all ranks, those that have ended, for a progress line.
  uint64_t steps() const;
  uint64_t steps_ended() const;
  // Directed pairs of connected ranks whose hosts have a plan. misfits(): those whose planned
  // routes are, with the present routing, on none of their paths; they choose paths adaptively.
  uint64_t planned_pairs() const { return fits_.size(); }
  uint64_t misfits() const;

 private:
  // Of ranks; one more process sends a host's flows. The range of source ports allows no more.
  static constexpr uint32_t kMostRanksOfHost = 127;
  static Result<void> check_ranks(const simulator::FlowRun& run);

  struct Placed {
    std::unique_ptr<JobSurroundings> surroundings;
    std::vector<std::unique_ptr<SimulatedRank>> ranks;
    std::vector<simulator::EngineProcess*> processes;
    std::unique_ptr<insight::TrafficBuilder> traffic;  // null: not counted
    std::vector<std::unique_ptr<RankSink>> sinks;
    std::vector<std::unique_ptr<RankTrace>> traces;  // where they are recorded
  };

  SimulatedJobs(simulator::FlowRun& run, const SimulatedJobsOptions& options);
  Result<void> make_room();
  events::Sink* sink_of(Placed& placed, size_t job, uint32_t rank, uint16_t port) const;
  void place(size_t index, std::vector<uint16_t>& ports);
  std::vector<transport::PlannedShare> shares(size_t job, uint32_t rank,
                                              const transport::Address& peer);
  collectives::Tuning tuning_of(const topology::Job& job) const;

  bool ready() const override;
  void begin() override;
  bool over() const override;
  void add_statistics(transport::ConnectionStatistics& sum) const override;
  void run(Nanos now) override;
  bool got_on();
  bool is_stuck();

  simulator::FlowRun& run_;
  const SimulatedJobsOptions options_;
  std::vector<JobOutcome> outcomes_;
  std::unique_ptr<RoceCarrier> carrier_;  // with RoCE NICs; else null
  std::vector<Placed> placed_;
  Nanos zero_ = Nanos::never();  // time 0
  MirroredMemory memory_;
  std::span<std::byte> staging_;  // of it
  uint64_t buffer_bytes_ = 0;
  simulator::AgentId agent_;
  bool ready_reported_ = false;
  uint64_t progress_seen_ = 0;
  Nanos progress_at_;
  uint64_t acked_bytes_seen_ = 0;
  // By job, rank, and the peer's NIC and port: whether the plan fits. Connections between two ranks
  // have the same ports.
  std::map<std::tuple<size_t, uint32_t, simulator::NicId, uint16_t>, bool> fits_;
  mutable size_t first_open_ = 0;  // jobs and ranks before it are done
  mutable size_t first_rank_ = 0;
};

}  // namespace heddle::jobs
