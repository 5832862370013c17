// See simulation.h.
#include "bench/diagnosis/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/diagnosis/draw.h"
#include "insight/party.h"
#include "jobs/simulated_jobs.h"
#include "simulator/flow_run.h"
#include "simulator/network.h"
#include "topology/generators.h"

namespace heddle::bench {
namespace {

using topology::Action;
using topology::ActionKind;
using topology::CallAlgorithm;
using topology::CallKind;
using topology::LinkChange;
using topology::LinkChangeKind;
using topology::LinkDirection;

constexpr uint64_t kTraffic = 301;  // purposes of draws
constexpr uint64_t kClock = 302;
constexpr uint64_t kBlockBytes = 32 << 10;  // of a rank's data, for each rank
constexpr uint64_t kEventsAtOnce = 20'000;
// A spine's rate beside a host's: packets are few and large here, and a hop more of each would be
// an inborn delay of the links between leaves.
constexpr uint64_t kSpine = 64;
constexpr uint32_t kFlappingSpine = 2;
constexpr uint32_t kFlaps = 4;  // of a flapping link
// A hang takes the longer of 10 s and four of the longest pauses to be one.
constexpr Nanos kObserved = seconds(60);
constexpr Nanos kEndless = seconds(100'000);

// Keeps what a diagnosis reads of a rank.
class RankEvents final : public events::EachSink<RankEvents> {
 public:
  RankEvents(uint32_t rank, std::vector<TimedEvent>& all) : rank_(rank), all_(all) {}

  events::KindSet wanted() const override {
    using enum events::EventKind;
    return {kCommunicatorMade, kCommunicatorLinked, kCommunicatorEnded, kCallMade,
            kCallStarted,      kCallEnded,          kWaitBegun,         kWaitEnded,
            kMessageCompleted, kBurstLost,          kRecovery,          kConnectionClosed,
            kWireBin,          kPathTraced};
  }
  template <typename Event>
  void on_any(const Event& event) {
    all_.push_back({event.time.count, rank_, event});
  }

 private:
  const uint32_t rank_;
  std::vector<TimedEvent>& all_;
};

class Simulation {
 public:
  Simulation(const FaultCase& job, const ObservedJob* healthy)
      : job_(job), computation_(job), healthy_(healthy) {}

  Result<ObservedJob> run() {
    topology::Workload workload;
    workload.jobs.push_back(make_job());
    add_neighbors(workload);
    if (has(Fault::kCollision)) add_collision(workload);
    topology::Topology fabric = make_fabric();
    add_faults(fabric);
    ObservedJob made;
    std::vector<std::unique_ptr<RankEvents>> sinks;
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      made.processes.push_back(identity_of(job_, rank));
      made.ends.push_back({.closed = true,
                           .complete = true,
                           .clock_error_ns = static_cast<int64_t>(job_.noise.clock_error_ns)});
      sinks.push_back(std::make_unique<RankEvents>(rank, made.events));
    }
    simulator::FlowRun run(fabric, workload,
                           {.seed = job_.seed,
                            .paths = static_cast<uint16_t>(job_.spines > 1 ? 64 : 8),
                            .discovers = job_.spines > 1 || job_.may_collide(),
                            .sink_of = {},
                            .wire_span = millis(200)});
    const auto jobs = jobs::SimulatedJobs::create(
        run, {.sink_of = [&sinks](size_t, uint32_t rank) { return sinks[rank].get(); }});
    if (!jobs) return fail(jobs.error());
    const bool faulty = healthy_ != nullptr;
    made.onset_ns = faulty ? onset_ns() : 0;
    Nanos until = kEndless;
    if (faulty && !slows(job_.truth.fault)) until = Nanos{made.onset_ns} + kObserved;
    while (run.advance(until, kEventsAtOnce)) {
    }
    finish(run, made);
    return made;
  }

 private:
  bool has(Fault fault) const { return healthy_ != nullptr && job_.truth.fault == fault; }

  // Times count from time 0, which is when all connections are open, on the hosts' clocks.
  void finish(const simulator::FlowRun& run, ObservedJob& made) const {
    const int64_t zero = run.network().now().count - run.now().count;
    std::vector<int64_t> ahead;  // by rank
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      Random clock = random_at(job_.seed, kClock, job_.host_of(rank), 0);
      ahead.push_back(static_cast<int64_t>(job_.noise.clock_error_ns * uniform(clock, -1, 1)));
    }
    for (TimedEvent& each : made.events) {
      each.at_ns = std::max<int64_t>(0, each.at_ns - zero + ahead[each.process]);
      if (std::holds_alternative<events::CallEnded>(each.event)) {
        made.ended_ns = std::max(made.ended_ns, each.at_ns);
      }
    }
    made.until_ns = slows(job_.truth.fault) ? made.ended_ns : run.now().count;
    if (has(Fault::kFrozenRank)) made.ends[job_.truth.rank].closed = false;
    made.sort();
  }

  // --- the job ---

  CallKind kind_of(uint32_t call) const {
    switch (job_.shape) {
      case Shape::kBuckets:
        return CallKind::kAllReduce;
      case Shape::kSharded:
        return call % 2 == 0 ? CallKind::kAllGather : CallKind::kReduceScatter;
      case Shape::kExperts:
        return call < 2 ? CallKind::kAllToAll : CallKind::kAllReduce;
      case Shape::kExchange:
        return CallKind::kAllToAll;
    }
    return CallKind::kAllReduce;
  }

  topology::Program program(uint32_t rank) const {
    topology::Program program;
    program.labels = {"reduced"};
    const bool blocks = job_.shape != Shape::kBuckets;
    for (uint32_t step = 0; step < job_.steps; ++step) {
      for (uint32_t call = 0; call < job_.calls; ++call) {
        program.actions.push_back({.span = span_of(rank, step, call)});
        Action action{.kind = ActionKind::kCall, .call = kind_of(call)};
        const bool exchange = action.call == CallKind::kAllToAll;
        action.algorithm = {exchange ? CallAlgorithm::kPairwise : CallAlgorithm::kRing};
        if (!blocks) action.algorithm = job_.algorithm;
        action.bytes = kBlockBytes * job_.ranks;
        const bool onset = rank == job_.truth.rank && step == job_.truth.onset_step && call == 0;
        if (has(Fault::kMismatch) && onset) action.bytes -= 64;
        if (!blocks) action.label = 0;
        program.actions.push_back(action);
      }
      if (!blocks) program.actions.push_back({.kind = ActionKind::kWait, .label = 0});
    }
    return program;
  }

  Nanos span_of(uint32_t rank, uint32_t step, uint32_t call) const {
    const bool stops = rank == job_.truth.rank && step == job_.truth.onset_step && call == 0;
    if (has(Fault::kStoppedRank) && stops) return kEndless;
    return Nanos{static_cast<int64_t>(computation_.ns(rank, step, call))};
  }

  topology::Job make_job() const {
    topology::Job job{.name = "job", .kind = "program"};
    job.communicators.push_back({.name = "world", .ranks = {}});
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      job.ranks.push_back({.host = host_of(rank), .program = rank, .communicators = {0}});
      job.communicators[0].ranks.push_back(rank);
      job.programs.push_back(program(rank));
    }
    return job;
  }

  // --- the fabric: leaf 0 has the first half of the ranks and a neighbor, leaf 1 the others. Where
  // flows may collide it has the even ranks, and as many neighbors ---

  uint32_t hosts_per_leaf() const {
    return job_.may_collide() ? job_.ranks : (job_.ranks + 1) / 2 + 1;
  }
  uint32_t host_of(uint32_t rank) const {
    if (job_.may_collide()) return rank % 2 * hosts_per_leaf() + rank / 2;
    const uint32_t first = (job_.ranks + 1) / 2;
    return rank < first ? rank : rank + 1;
  }

  BitsPerSec rate() const {
    const bool twice = job_.shape == Shape::kBuckets;
    const double bits = 8.0 * static_cast<double>(kBlockBytes * (job_.ranks - 1)) * (twice ? 2 : 1);
    return {static_cast<uint64_t>(bits / job_.transfer_ns * 1e9)};
  }

  topology::LeafSpineShape shape() const {
    const topology::LinkShape link{.rate = rate(), .delay = micros(2), .queue = mebibytes(1)};
    topology::LinkShape up = link;
    // As much as the job's hosts below the leaf can send.
    up.rate = {link.rate.count * (job_.may_collide() ? job_.ranks / 2 : kSpine)};
    return {.leaves = 2,
            .spines = job_.spines,
            .hosts_per_leaf = hosts_per_leaf(),
            .host_link = link,
            .spine_link = up,
            .hash_seed = job_.seed};
  }

  topology::Topology make_fabric() const { return topology::leaf_spine(shape()); }

  // --- its fault ---

  // Between two ranks: of the healthy run's step, in its midst where a process freezes.
  int64_t onset_ns() const {
    int64_t made = 0;
    int64_t ended = 0;
    uint32_t seen = 0;
    const uint32_t wanted = job_.truth.onset_step * job_.calls;
    for (const TimedEvent& each : healthy_->events) {
      const bool own = each.process == job_.truth.rank;
      if (const auto* call = std::get_if<events::CallMade>(&each.event); call != nullptr && own) {
        if (seen++ == wanted) made = each.at_ns;
      }
      if (made > 0 && own && std::holds_alternative<events::CallEnded>(each.event)) {
        ended = each.at_ns;
        break;
      }
    }
    return job_.truth.fault == Fault::kFrozenRank ? (made + ended) / 2 : made;
  }

  void add_faults(topology::Topology& fabric) const {
    if (healthy_ == nullptr) return;
    const Truth& truth = job_.truth;
    const Nanos at{onset_ns()};
    LinkChange change{.at = at,
                      .link = host_of(truth.rank),
                      .direction = LinkDirection::kBoth,
                      .kind = LinkChangeKind::kRate,
                      .rate = {},
                      .faults = {}};
    switch (truth.fault) {
      case Fault::kFrozenRank:
        fabric.host_changes.push_back({.at = at, .host = host_of(truth.rank)});
        return;
      case Fault::kSlowNic:
        if (truth.side == NicSide::kSending) change.direction = LinkDirection::kForward;
        if (truth.side == NicSide::kReceiving) change.direction = LinkDirection::kBackward;
        change.rate = scaled(rate(), truth.severity);
        break;
      case Fault::kSlowHost:
        change.rate = scaled(rate(), 1 / truth.severity);
        break;
      case Fault::kLossyNic:
        change.kind = LinkChangeKind::kFaults;
        change.faults.loss_per_million = static_cast<uint32_t>(truth.severity * 1e6);
        break;
      case Fault::kSlowLink:
        // From the leaf of the sender to the spine.
        change.link = topology::leaf_spine_link(shape(), leaf_of(truth.rank), 0);
        change.direction = LinkDirection::kForward;
        change.rate = scaled(rate(), truth.severity);
        break;
      case Fault::kFlappingNic:
        return add_flaps(change, fabric);
      case Fault::kFlappingLink:
        change.link = topology::leaf_spine_link(shape(), leaf_of(truth.rank), kFlappingSpine);
        return add_flaps(change, fabric);
      default:
        return;
    }
    fabric.changes.push_back(change);
  }

  // Down for two fifths of each period, until the job's end.
  void add_flaps(LinkChange change, topology::Topology& fabric) const {
    const Nanos period{(healthy_->ended_ns - onset_ns()) / kFlaps};
    for (uint32_t flap = 0; flap < kFlaps; ++flap) {
      change.kind = LinkChangeKind::kDown;
      fabric.changes.push_back(change);
      LinkChange up = change;
      up.kind = LinkChangeKind::kUp;
      up.at = change.at + period * 2 / 5;
      fabric.changes.push_back(up);
      change.at = change.at + period;
    }
  }

  static BitsPerSec scaled(BitsPerSec rate, double by) {
    return {static_cast<uint64_t>(static_cast<double>(rate.count) * by)};
  }
  uint32_t leaf_of(uint32_t rank) const { return host_of(rank) / hosts_per_leaf(); }

  // --- its neighbors ---

  // Bursts of a neighbor to one of the job's hosts.
  void add_neighbors(topology::Workload& workload) const {
    const Noise& noise = job_.noise;
    if (noise.congestion_chance == 0) return;
    Random random = random_at(job_.seed, kTraffic, 0, 0);
    const double total_ns = job_.steps * (job_.step_ns + job_.calls * job_.transfer_ns);
    const auto bytes =
        static_cast<uint64_t>(noise.congestion_ns * 1e-9 * static_cast<double>(rate().count) / 8);
    double at = 0;
    for (uint64_t id = 1; id <= 200; ++id) {
      at += exponential(random, noise.congestion_ns / noise.congestion_chance);
      if (at > total_ns) break;
      topology::Flow flow{.id = id, .bytes = {std::max<uint64_t>(bytes, 1000)}};
      flow.from = chance(random, 0.5) ? hosts_per_leaf() - 1 : 2 * hosts_per_leaf() - 1;
      flow.to = host_of(static_cast<uint32_t>(random.below(job_.ranks)));
      flow.start = Nanos{static_cast<int64_t>(at)};
      workload.flows.push_back(flow);
    }
  }

  // In its turns each neighbor at leaf 0 sends to one at leaf 1, by as many flows as leave the
  // job's the severity's share.
  void add_collision(topology::Workload& workload) const {
    const uint32_t pairs = job_.ranks / 2;
    const auto flows = static_cast<uint32_t>(std::lround(1 / job_.truth.severity - 1));
    const double each = job_.truth.severity * static_cast<double>(rate().count) / 8;
    const int64_t onset = onset_ns();
    const auto turns =
        static_cast<uint64_t>(static_cast<double>(healthy_->ended_ns - onset) / job_.truth.turn_ns);
    uint64_t id = workload.flows.size();
    for (uint64_t turn = 0; turn <= 2 * turns; ++turn) {
      if (!job_.neighbor_sends(turn)) continue;
      for (uint32_t flow = 0; flow < flows * pairs; ++flow) {
        topology::Flow one{.id = ++id,
                           .bytes = {static_cast<uint64_t>(each * job_.truth.turn_ns * 1e-9)}};
        one.from = pairs + flow % pairs;
        one.to = hosts_per_leaf() + one.from;
        one.start =
            Nanos{onset + static_cast<int64_t>(static_cast<double>(turn) * job_.truth.turn_ns)};
        workload.flows.push_back(one);
      }
    }
  }

  const FaultCase& job_;
  const Computation computation_;
  const ObservedJob* const healthy_;
};

constexpr uint32_t kLeaves = 2;  // switches before the spines

std::string router_text(uint32_t index) {
  const std::array<uint8_t, 16> address = simulator::router_address(index);
  uint64_t halves[2] = {};
  for (size_t i = 0; i < address.size(); ++i) halves[i / 8] = halves[i / 8] << 8 | address[i];
  return insight::host_text(halves[0], halves[1]);
}

}  // namespace

std::string flapping_router() { return router_text(kLeaves + kFlappingSpine); }

std::string uplink_routers(uint32_t leaf) {
  return router_text(leaf) + ", " + router_text(kLeaves);
}

Result<ObservedJob> simulate(const FaultCase& job, const ObservedJob* healthy) {
  return Simulation(job, healthy).run();
}

}  // namespace heddle::bench
