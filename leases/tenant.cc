// See tenant.h. A move is published only if no lease has changed since the loads were read, and
// only if the most loaded of the own links then takes clearly less time. No link that the move adds
// to gets as slow as that one was, so each move lowers the sorted list of all links' times, and
// moves come to an end (Banner and Orda, Bottleneck routing games in communication networks, 2007).
#include "leases/tenant.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clocks.h"
#include "base/interrupt.h"
#include "leases/params.h"
#include "topology/fingerprint.h"
#include "topology/names.h"

namespace heddle::leases {
namespace {

constexpr const char* kNotConsidered = "?";  // no text of others_in()

// "leaf0 -> spine1", or "leaf0 -> spine1 #1" for one of parallel cables.
std::string name_of(const topology::Topology& topology, uint32_t link) {
  const topology::Link& cable = topology.links[link / 2];
  const bool forward = link % 2 == 0;
  const std::string label = topology::link_label(topology, link / 2);
  const size_t number = label.find(" #");
  return topology::node_label(topology, forward ? cable.a : cable.b) + " -> " +
         topology::node_label(topology, forward ? cable.b : cable.a) +
         (number == std::string::npos ? "" : label.substr(number));
}

// Of two jobs that know their periods, what the other sends within the own one.
double scale_of(const Lease& other, Nanos own_period) {
  if (other.period.count <= 0 || own_period.count <= 0) return 1;
  return static_cast<double>(own_period.count) / static_cast<double>(other.period.count);
}

// The holders of leases but for the own one.
std::string holders_in(const Snapshot& snapshot, const std::string& own) {
  std::string text;
  for (const StoredLease& each : snapshot.live) {
    if (each.lease.holder != own) text += each.lease.holder + ";";
  }
  return text;
}

// Likewise with the numbers of their plans.
std::string others_in(const Snapshot& snapshot, const std::string& own) {
  std::string text;
  for (const StoredLease& each : snapshot.live) {
    if (each.lease.holder == own) continue;
    text += fmt::format("{} {} {};", each.lease.job, each.lease.holder, each.lease.plans);
  }
  return text;
}

}  // namespace

Tenant::Tenant(Store& store, const topology::Topology& topology, TenantSetting setting)
    : store_(store),
      topology_(topology),
      setting_(std::move(setting)),
      on_fabric_(topology, setting_.demand, setting_.options) {
  lease_.job = setting_.job;
  lease_.holder = new_holder();
  lease_.host = own_host_name();
  lease_.process = static_cast<uint64_t>(getpid());
  lease_.ttl = setting_.ttl;
  lease_.fabric = topology::fingerprint(topology);
  lease_.period = setting_.period;
  for (const planner::FlowDemand& flow : setting_.demand.flows) lease_.bytes += flow.bytes;
}

Result<std::vector<double>> Tenant::loads_of_others(const Snapshot& snapshot) {
  const size_t links = 2 * topology_.links.size();
  std::vector<double> loads;
  if (setting_.background) {
    Result<std::vector<double>> background = setting_.background(snapshot);
    if (!background) return background;
    loads = std::move(*background);
  }
  loads.resize(links);
  notes_.assign(snapshot.ignored.begin(), snapshot.ignored.end());
  beside_ = 0;
  for (const StoredLease& each : snapshot.live) {
    const Lease& other = each.lease;
    if (other.holder == lease_.holder) continue;
    if (other.fabric != lease_.fabric) {
      notes_.push_back("the lease '" + other.job + "' is for another topology");
      continue;
    }
    if (!other.loads.empty() && other.loads.back().link >= links) {
      notes_.push_back("the lease '" + other.job + "' has links that the topology lacks");
      continue;
    }
    ++beside_;
    const double scale = scale_of(other, lease_.period);
    for (const LinkBytes& load : other.loads) {
      loads[load.link] += static_cast<double>(load.bytes) * scale;
    }
  }
  on_fabric_.keep_usable(loads);
  return loads;
}

Lease Tenant::lease_with(const planner::PathPlan& plan) {
  const std::vector<double> loads = on_fabric_.loads_of(plan);
  Lease lease = lease_;
  lease.loads.clear();
  for (uint32_t link = 0; link < loads.size(); ++link) {
    const auto bytes = static_cast<uint64_t>(std::llround(loads[link]));
    if (bytes > 0) lease.loads.push_back({link, bytes});
  }
  lease.busiest.clear();
  for (const planner::LinkTime& each : on_fabric_.busiest_links(loads, params::kBusiest)) {
    lease.busiest.push_back({name_of(topology_, each.link), each.time_ns * 1e-3});
  }
  return lease;
}

std::vector<double> Tenant::own_loads() const {
  std::vector<double> loads(2 * topology_.links.size());
  for (const LinkBytes& each : lease_.loads) loads[each.link] = static_cast<double>(each.bytes);
  return loads;
}

void Tenant::adopt(Lease lease, planner::PathPlan plan, const Snapshot& seen) {
  lease_ = std::move(lease);
  plan_ = std::move(plan);
  considered_ = others_in(seen, lease_.holder);
}

Result<Published> Tenant::publish(const Snapshot& snapshot, const Lease& lease, Claim claim) {
  Result<Published> published = store_.publish(snapshot, lease, claim);
  if (!published && published.error().code != ErrorCode::kInUse) {
    unsure_ = true;
    lease_.plans = lease.plans;  // the next one has another number
  }
  if (published && *published == Published::kDone) unsure_ = false;
  return published;
}

Result<void> Tenant::take() {
  if (Result<void> fits = check_job_name(lease_.job); !fits) return fits;
  lease_.since_s = wall_now() / seconds(1);
  Lease lease;
  planner::PathPlan plan;
  Snapshot beside;
  std::vector<double> others;
  for (int attempt = 0; attempt < params::kMostAttempts; ++attempt) {
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "the lease '" + lease_.job + "' was not taken",
                  "a signal came", "");
    }
    Result<Snapshot> snapshot = store_.read();
    if (!snapshot) return fail(snapshot.error());
    if (attempt < params::kAttemptsWithPlan) {
      Result<std::vector<double>> loads = loads_of_others(*snapshot);
      if (!loads) return fail(loads.error());
      Result<planner::PathPlan> made = on_fabric_.plan_beside(*loads, 0);
      ++plans_made_;
      if (!made) return fail(made.error());
      others = std::move(*loads);
      plan = std::move(*made);
      lease = lease_with(plan);
      beside = *snapshot;
    }
    const Result<Published> published = publish(*snapshot, lease, Claim::kFirst);
    if (!published) return fail(published.error());
    if (*published != Published::kDone) continue;
    adopt(std::move(lease), std::move(plan), beside);
    longest_ = on_fabric_.longest(own_loads(), others);
    considered_loads_ = std::move(others);
    return {};
  }
  return fail(ErrorCode::kTimeout, "the lease '" + lease_.job + "' was not taken",
              fmt::format("others published {} times meanwhile", params::kMostAttempts),
              "try again");
}

Result<Turn> Tenant::turn() {
  if (lost_) return take_back();
  const Result<bool> held = store_.renew(lease_);
  if (!held) return fail(held.error());
  if (!*held) return take_anew();
  if (!unsure_) {
    const Result<std::string> version = store_.version();
    if (!version) return fail(version.error());
    if (*version == seen_version_) return Turn::kKept;
  }
  const Result<Snapshot> snapshot = store_.read();
  if (!snapshot) return fail(snapshot.error());
  if (unsure_ || others_in(*snapshot, lease_.holder) != considered_) return consider(*snapshot);
  seen_version_ = snapshot->version;
  return Turn::kKept;
}

// The lease stays as it is beside these others.
Turn Tenant::stay(const Snapshot& snapshot, double longest) {
  considered_ = others_in(snapshot, lease_.holder);
  seen_version_ = snapshot.version;
  longest_ = longest;
  return Turn::kKept;
}

// Whether a new plan can be worth a move: the loads of links that the job can take are others than
// when the last one was made, and its NICs, which no plan changes, leave enough to gain.
bool Tenant::can_gain(const std::vector<double>& own, const std::vector<double>& others,
                      double worth_below) const {
  return moves_ < params::kMostMoves && others != considered_loads_ &&
         on_fabric_.longest_of_nics(own, others) < worth_below;
}

// The others' leases are not those of the last plan, or it is not known which plan is published.
Result<Turn> Tenant::consider(const Snapshot& snapshot) {
  Result<std::vector<double>> others = loads_of_others(snapshot);
  if (!others) return fail(others.error());
  if (std::string holders = holders_in(snapshot, lease_.holder); holders != holders_) {
    holders_ = std::move(holders);
    moves_ = 0;
  }
  const std::vector<double> own = own_loads();
  const double now = on_fabric_.longest(own, *others);
  const double worth_below = now * (1 - params::kWorthMoving);
  if (!can_gain(own, *others, worth_below) && !unsure_) return stay(snapshot, now);
  // Beside the job, whose cores these are.
  Result<planner::PathPlan> plan = on_fabric_.plan_beside(*others, 1);
  ++plans_made_;
  if (!plan) return fail(plan.error());
  Lease lease = lease_with(*plan);
  std::vector<double> loads(2 * topology_.links.size());
  for (const LinkBytes& each : lease.loads) loads[each.link] = static_cast<double>(each.bytes);
  const double then = on_fabric_.longest(loads, *others);
  // False for times that are no numbers, too.
  const bool moves = moves_ < params::kMostMoves && then < worth_below;
  considered_loads_ = std::move(*others);
  if (!moves && !unsure_) return stay(snapshot, now);
  if (!moves) {
    lease = lease_;
    *plan = plan_;
  }
  ++lease.plans;
  const Result<Published> published = publish(snapshot, lease, Claim::kNext);
  if (!published) return fail(published.error());
  if (*published == Published::kLost) return take_anew();
  if (*published == Published::kChanged) {
    considered_loads_.clear();
    return Turn::kKept;  // the next turn looks again
  }
  adopt(std::move(lease), std::move(*plan), snapshot);
  longest_ = moves ? then : now;
  if (!moves) return Turn::kKept;
  ++moves_;
  before_move_ = now;
  return Turn::kMoved;
}

// First the loads that the job has: it sends meanwhile, and others would plan without them. The
// next turn considers another plan.
Result<Turn> Tenant::take_anew() {
  for (int attempt = 0; attempt < params::kMostAttempts; ++attempt) {
    const Result<Snapshot> snapshot = store_.read();
    if (!snapshot) return fail(snapshot.error());
    Lease lease = lease_;
    ++lease.plans;
    const Result<Published> published = publish(*snapshot, lease, Claim::kFirst);
    if (published && *published != Published::kDone) continue;
    lost_ = !published && published.error().code == ErrorCode::kInUse;
    if (lost_) {
      static_cast<void>(store_.release(lease_));  // what the store keeps beside the lease
      return Turn::kLost;
    }
    if (!published) return fail(published.error());
    lease_ = std::move(lease);
    considered_ = kNotConsidered;
    considered_loads_.clear();
    seen_version_.clear();
    return Turn::kTakenAnew;
  }
  return fail(ErrorCode::kTimeout, "the lease '" + lease_.job + "' was not taken anew",
              fmt::format("others published {} times meanwhile", params::kMostAttempts), "");
}

// Another holder has the job's name, until it ends.
Result<Turn> Tenant::take_back() {
  const Result<Snapshot> snapshot = store_.read();
  if (!snapshot) return fail(snapshot.error());
  for (const StoredLease& each : snapshot->live) {
    if (each.lease.job == lease_.job && each.lease.holder != lease_.holder) return Turn::kLost;
  }
  return take_anew();
}

// The store removes only what is the holder's own.
Result<void> Tenant::release() { return store_.release(lease_); }

}  // namespace heddle::leases
