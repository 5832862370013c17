// Jobs in a simulated world: see simulated_jobs.h.
#include "jobs/simulated_jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/tuning.h"
#include "jobs/fabric_tuning.h"
#include "jobs/params.h"
#include "simulator/fitted_shares.h"

namespace heddle::jobs {
namespace {

constexpr uint16_t kFirstPort = 4792;  // behind that of flows

}  // namespace

// Each rank is a process, and each process of a host has ports of its own.
Result<void> SimulatedJobs::check_ranks(const simulator::FlowRun& run) {
  const topology::Topology& topology = run.network().topology();
  std::vector<uint32_t> ranks(topology.hosts.size());
  for (const topology::Job& job : run.workload().jobs) {
    for (const topology::JobRank& rank : job.ranks) {
      if (++ranks[rank.host] <= kMostRanksOfHost) continue;
      return fail(ErrorCode::kExhausted, "cannot simulate the jobs",
                  fmt::format("host {} would have more than {} ranks",
                              topology.hosts[rank.host].name, kMostRanksOfHost),
                  "use fewer jobs on it, or other hosts");
    }
  }
  return {};
}

Result<std::unique_ptr<SimulatedJobs>> SimulatedJobs::create(simulator::FlowRun& run,
                                                             const SimulatedJobsOptions& options) {
  if (Result<void> fit = check_ranks(run); !fit) return fail(fit.error());
  std::unique_ptr<SimulatedJobs> made(new SimulatedJobs(run, options));
  if (Result<void> room = made->make_room(); !room) return fail(room.error());
  std::vector<uint16_t> ports(run.network().topology().hosts.size(), kFirstPort);
  for (size_t i = 0; i < made->jobs().size(); ++i) made->place(i, ports);
  run.add_tenant(*made);
  return made;
}

SimulatedJobs::SimulatedJobs(simulator::FlowRun& run, const SimulatedJobsOptions& options)
    : run_(run),
      options_(options),
      outcomes_(run.workload().jobs.size()),
      agent_(run.world().network().add_agent(*this)) {
  if (run.options().roce) carrier_ = std::make_unique<RoceCarrier>(run);
  progress_at_ = run.world().now();
  run.world().network().schedule(agent_, progress_at_ + params::kProgressLook);
}

SimulatedJobs::~SimulatedJobs() {
  for (Placed& job : placed_) {
    job.ranks.clear();
    for (simulator::EngineProcess* process : job.processes) process->kill();
  }
  run_.world().network().remove_agent(agent_);
}

// Separate memory for input, output and staging: the scoreboard finds dependencies between the
// parts of a call by addresses.
Result<void> SimulatedJobs::make_room() {
  uint64_t staging_bytes = 0;
  for (const topology::Job& job : jobs()) {
    buffer_bytes_ = std::max(buffer_bytes_, largest_call(job));
    staging_bytes = std::max(staging_bytes, params::kStagedChunks * tuning_of(job).chunk_bytes);
  }
  buffer_bytes_ = (buffer_bytes_ / 64 + 2) * 64;
  staging_bytes = std::max(staging_bytes, buffer_bytes_);
  auto memory = MirroredMemory::create(2 * buffer_bytes_ + staging_bytes);
  if (!memory) return fail(memory.error());
  memory_ = std::move(*memory);
  staging_ = {memory_.start() + 2 * buffer_bytes_, staging_bytes};
  return {};
}

void SimulatedJobs::place(size_t index, std::vector<uint16_t>& ports) {
  const topology::Job& job = jobs()[index];
  Placed placed;
  if (options_.counts_pairs) placed.traffic = std::make_unique<insight::TrafficBuilder>();
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    const uint32_t host = job.ranks[rank].host;
    simulator::EngineProcessOptions options;
    options.process = run_.process_options(host);
    options.process.datapath.port = ports[host]++;
    if (run_.options().selector == "plan") {
      options.process.datapath.shares_of = [this, index, rank](const transport::Address& peer) {
        return shares(index, rank, peer);
      };
      options.process.datapath.plan_changes = [this] { return run_.replanned(); };
    }
    options.engine.sink = sink_of(placed, index, rank, options.process.datapath.port);
    options.engine.transport = run_.endpoint_options(host);
    options.engine.eager_bytes = mebibytes(1);
    placed.processes.push_back(&run_.world().add(options));
    if (carrier_) carrier_->add(host, *placed.processes.back());
  }
  outcomes_[index].calls.resize(job.communicators.size());
  placed.surroundings = std::make_unique<JobSurroundings>(JobSurroundings{
      .job = job,
      .outcome = outcomes_[index],
      .buffer = memory_.start(),
      .buffer_bytes = buffer_bytes_,
      .options = {.tuning = tuning_of(job), .staging = staging_, .carrier = carrier_.get()},
      .addresses = {},
      .communicators = communicator_numbers(jobs(), index),
      .rank_in = ranks_in_communicators(job)});
  for (const simulator::EngineProcess* process : placed.processes) {
    placed.surroundings->addresses.push_back(process->address());
  }
  for (uint32_t rank = 0; rank < job.ranks.size(); ++rank) {
    placed.ranks.push_back(std::make_unique<SimulatedRank>(*placed.surroundings, rank,
                                                           *placed.processes[rank], zero_));
  }
  placed_.push_back(std::move(placed));
}

// The plan's for the two hosts, whichever of their ranks and communicators the connection is of.
// Called by the rank's endpoint, so all ranks are placed.
std::vector<transport::PlannedShare> SimulatedJobs::shares(size_t job, uint32_t rank,
                                                           const transport::Address& peer) {
  const topology::Topology& topology = run_.network().topology();
  const uint32_t from = jobs()[job].ranks[rank].host;
  const uint32_t to = topology.nics[simulator::nic_of(peer)].host;
  const auto planned = run_.plan().find({from, to});
  if (planned == run_.plan().end() || planned->second.empty()) return {};
  const auto nics_of = [this](uint32_t host) {
    const simulator::SimDatapathOptions options = run_.process_options(host).datapath;
    std::vector<simulator::NicId> nics = {options.nic};
    nics.insert(nics.end(), options.further_nics.begin(), options.further_nics.end());
    return nics;
  };
  const std::vector<simulator::NicId> own = nics_of(from);
  const std::vector<simulator::NicId> peers = nics_of(to);
  std::vector<transport::PlannedShare> shares = simulator::fitted_shares(
      run_.network(),
      {own, peers, placed_[job].processes[rank]->datapath().source_port(0, 0), peer.port},
      run_.options().paths, planned->second);
  fits_[{job, rank, simulator::nic_of(peer), peer.port}] = !shares.empty();
  return shares;
}

uint64_t SimulatedJobs::misfits() const {
  return static_cast<uint64_t>(
      std::count_if(fits_.begin(), fits_.end(), [](const auto& each) { return !each.second; }));
}

events::Sink* SimulatedJobs::sink_of(Placed& placed, size_t job, uint32_t rank,
                                     uint16_t port) const {
  const uint32_t host = jobs()[job].ranks[rank].host;
  uint32_t number = 0;
  if (options_.counts_pairs) {
    number = placed.traffic->add_process(
        {{"rank", std::to_string(rank)}, {"host", run_.network().topology().hosts[host].name}});
  }
  placed.sinks.push_back(std::make_unique<RankSink>(placed.traffic.get(), number));
  events::Sink* const recorder = options_.sink_of ? options_.sink_of(job, rank) : nullptr;
  if (recorder == nullptr) return placed.sinks.back().get();
  run_.record_endpoint(*recorder, host, port);
  placed.traces.push_back(std::make_unique<RankTrace>(*placed.sinks.back(), *recorder));
  return placed.traces.back().get();
}

collectives::Tuning SimulatedJobs::tuning_of(const topology::Job& job) const {
  uint64_t rate = UINT64_MAX;
  for (const topology::JobRank& rank : job.ranks) {
    rate = std::min(rate, run_.endpoint_options(rank.host).receive_rate.count);
  }
  return fabric_tuning(job, {run_.round_trip() / 2, run_.options().turn_time, {rate}});
}

bool SimulatedJobs::ready() const {
  for (const Placed& job : placed_) {
    for (const auto& rank : job.ranks) {
      if (!rank->program().ready()) return false;
    }
  }
  return true;
}

void SimulatedJobs::begin() {
  zero_ = run_.world().now() - run_.now();
  for (size_t i = 0; i < placed_.size(); ++i) {
    for (const auto& sink : placed_[i].sinks) sink->begin();
    for (const auto& trace : placed_[i].traces) trace->begin();
    for (const auto& rank : placed_[i].ranks) rank->program().begin(jobs()[i].start);
  }
}

bool SimulatedJobs::over() const {
  for (; first_open_ < placed_.size(); ++first_open_) {
    const auto& ranks = placed_[first_open_].ranks;
    while (first_rank_ < ranks.size() && ranks[first_rank_]->program().done()) ++first_rank_;
    if (first_rank_ < ranks.size()) return false;
    first_rank_ = 0;
  }
  return true;
}

void SimulatedJobs::run(Nanos now) {
  if (!ready_reported_ && ready()) {
    ready_reported_ = true;
    run_.tenant_ready();
  }
  if (got_on()) progress_at_ = now;
  if (now - progress_at_ >= params::kSimulatedStuckAfter) {
    const bool stuck = is_stuck();
    progress_at_ = now;
    for (size_t i = 0; stuck && i < placed_.size(); ++i) {
      for (const auto& rank : placed_[i].ranks)
        rank->program().fail("waits for ever: " + rank->program().waits_for());
    }
  }
  if (!over()) {
    run_.world().network().schedule(agent_,
                                    now + (ready_reported_ ? millis(100) : params::kProgressLook));
  }
}

// A long call may be all that goes on.
bool SimulatedJobs::is_stuck() {
  const uint64_t acked_bytes = run_.totals().payload_bytes_acked;
  size_t ranks = 0;
  for (const topology::Job& job : jobs()) ranks += job.ranks.size();
  return acked_bytes - std::exchange(acked_bytes_seen_, acked_bytes) <
         params::kLeastProgressBytes * ranks;
}

// Since it was asked last: calls have ended, ranks gone on, or they compute or have yet to begin.
bool SimulatedJobs::got_on() {
  uint64_t progress = 0;
  bool idle = false;
  for (size_t i = 0; i < placed_.size(); ++i) {
    progress += placed_[i].surroundings->progress;
    idle |= !run_.opening() && jobs()[i].start > run_.now();
    for (const auto& rank : placed_[i].ranks) idle |= rank->program().computing();
  }
  return std::exchange(progress_seen_, progress) != progress || idle;
}

bool SimulatedJobs::all_done() const {
  for (size_t i = 0; i < outcomes_.size(); ++i) {
    if (!outcomes_[i].error.empty() || outcomes_[i].ranks_done < jobs()[i].ranks.size()) {
      return false;
    }
  }
  return true;
}

std::optional<insight::Matrix> SimulatedJobs::matrix(size_t job) const {
  if (!options_.counts_pairs) return std::nullopt;
  return make_matrix(placed_[job].traffic->finish(), insight::MatrixRows::kRank);
}

uint64_t SimulatedJobs::steps() const {
  uint64_t sum = 0;
  for (const topology::Job& job : jobs()) {
    for (const topology::JobRank& rank : job.ranks) sum += job.programs[rank.program].repeat;
  }
  return sum;
}

uint64_t SimulatedJobs::steps_ended() const {
  uint64_t sum = 0;
  for (const JobOutcome& outcome : outcomes_) {
    for (const StepOutcome& step : outcome.steps) sum += step.ranks_ended;
  }
  return sum;
}

// With RoCE NICs these count, and ranks' connections carry control messages only.
void SimulatedJobs::add_statistics(transport::ConnectionStatistics& sum) const {
  if (carrier_) return;
  for (const Placed& job : placed_) {
    for (const auto& sink : job.sinks) sink->add_to(sum);
  }
}

}  // namespace heddle::jobs
