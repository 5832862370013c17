// See simulated_probe.h.
#include "bench/diagnosis/simulated_probe.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "base/check.h"

namespace heddle::bench {
namespace {

constexpr uint64_t kTest = 302;  // purpose of draws
// Of probe.py: --ratio and --limit.
constexpr double kRatio = 1.3;
constexpr double kLimitS = 20;
constexpr int kBestOf = 5;
constexpr int kMessages = 200;  // as long as the job's, of a test of a network
constexpr double kComputeNs = 50e6;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint64_t kTestCall = uint64_t{1} << 40;  // calls of the job have smaller numbers
constexpr uint32_t kMonitor = UINT32_MAX;          // rank of the monitor's machine, on no host

uint32_t host_number(const std::string& name) {
  CHECK(name.size() > 1 && name[0] == 'h');
  return static_cast<uint32_t>(std::stoul(name.substr(1)));
}

}  // namespace

SimulatedProbe::SimulatedProbe(const FaultCase& job, const ObservedJob& observed,
                               const TestOptions& options)
    : job_(job),
      observed_(observed),
      options_(options),
      computation_(job),
      network_(job),
      random_(random_at(job.seed, kTest, 0, 0)) {
  network_.set_onset(static_cast<double>(observed.onset_ns));
  const Fault fault = job.truth.fault;
  const bool hang = fault == Fault::kStoppedRank || fault == Fault::kFrozenRank;
  host_hangs_ = chance(random_, options.sees_hangs) && hang;
  for (const TimedEvent& each : observed.events) {
    const auto* const call = std::get_if<events::CallMade>(&each.event);
    if (call == nullptr || each.process != job.truth.rank) continue;
    if ((call->number - 1) % job.calls == 0) steps_ns_.push_back(each.at_ns);
  }
}

bool SimulatedProbe::hangs(uint32_t host, int64_t at_ns) const {
  return host_hangs_ && host == job_.host_of(job_.truth.rank) && at_ns >= observed_.onset_ns;
}

double SimulatedProbe::slowness(uint32_t rank, int64_t at_ns) const {
  if (at_ns < observed_.onset_ns) return 1;
  const auto later = std::upper_bound(steps_ns_.begin(), steps_ns_.end(), at_ns);
  return computation_.fault_factor(
      rank, static_cast<uint32_t>(std::max<int64_t>(0, later - steps_ns_.begin() - 1)));
}

// The slowest of the host's ranks, each the best of a few tries, beside the job's own load.
double SimulatedProbe::compute_s(uint32_t host, int64_t at_ns) {
  if (hangs(host, at_ns)) return kNever;
  const Noise& noise = job_.noise;
  double slowest = 0;
  for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
    if (job_.host_of(rank) != host) continue;
    double best = kNever;
    for (int i = 0; i < kBestOf; ++i) {
      double ns = kComputeNs * lognormal(random_, noise.jitter) * slowness(rank, at_ns);
      if (noise.crowding > 1 && chance(random_, 0.5)) ns *= noise.crowding;
      if (chance(random_, noise.spike_chance)) ns += exponential(random_, noise.spike_ns);
      best = std::min(best, ns);
    }
    slowest = std::max(slowest, best);
  }
  return 1e-9 * slowest;
}

double SimulatedProbe::transfer_s(uint32_t from_rank, uint32_t to_rank, int64_t at_ns) {
  const double each_ns = job_.transfer_ns / job_.ranks;
  double ns = 0;
  for (int i = 0; i < kMessages; ++i) {
    ns += network_.message_ns(kTestCall + ++messages_, from_rank, to_rank,
                              static_cast<double>(at_ns) + ns, each_ns);
  }
  return 1e-9 * ns;
}

// What the host receives from the monitor's machine: probe.py does not test what it sends.
double SimulatedProbe::network_s(uint32_t host, int64_t at_ns) {
  if (hangs(host, at_ns)) return kNever;
  double slowest = 0;
  for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
    if (job_.host_of(rank) != host) continue;
    slowest = std::max(slowest, transfer_s(kMonitor, rank, at_ns));
  }
  return slowest;
}

double SimulatedProbe::link_s(uint32_t from, uint32_t to, int64_t at_ns) {
  if (hangs(from, at_ns) || hangs(to, at_ns)) return kNever;
  double slowest = 0;
  for (uint32_t sender = 0; sender < job_.ranks; ++sender) {
    for (uint32_t receiver = 0; receiver < job_.ranks; ++receiver) {
      if (job_.host_of(sender) != from || job_.host_of(receiver) != to) continue;
      slowest = std::max(slowest, transfer_s(sender, receiver, at_ns));
    }
  }
  return slowest;
}

// As probe.py: where the peer does not end either, nothing is known.
SimulatedProbe::Run SimulatedProbe::compare(double host_s, double peer_s) {
  Run run;
  const bool wrong = chance(random_, options_.wrong);
  const auto time_s = [this](double measured_s) {
    return measured_s == kNever ? kLimitS : options_.host_s;
  };
  run.took_ns = static_cast<int64_t>(1e9 * (time_s(peer_s) + time_s(host_s)));
  if (peer_s == kNever) {
    run.result.exit_status = 2;
    return run;
  }
  run.result.exit_status = (host_s > kRatio * peer_s) != wrong ? 0 : 1;
  return run;
}

SimulatedProbe::Run SimulatedProbe::run(const std::vector<std::string>& words, int64_t at_ns) {
  CHECK(words.size() == 4);
  const uint32_t host = host_number(words[2]);
  const uint32_t other = host_number(words[3]);
  if (words[1] == "compute") return compare(compute_s(host, at_ns), compute_s(other, at_ns));
  if (words[1] == "network") return compare(network_s(host, at_ns), network_s(other, at_ns));
  CHECK(words[1] == "link");
  // A link is compared with what the site knows that it carries.
  const double quiet_ns = StreamNetwork::quiet_message_ns(job_.transfer_ns / job_.ranks);
  return compare(link_s(host, other, at_ns), 1e-9 * kMessages * quiet_ns);
}

}  // namespace heddle::bench
