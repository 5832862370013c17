// Tenant: a job that shares a fabric with others. It plans its paths beside what all live leases
// carry, publishes its own lease, renews it, and moves to other links where that is worth it after
// others came or went. The process that runs the job calls turn() from time to time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "leases/lease.h"
#include "leases/store.h"
#include "planner/path_plan.h"
#include "planner/shared_fabric.h"
#include "topology/topology.h"

namespace heddle::leases {

struct TenantSetting {
  std::string job;
  Nanos ttl;
  Nanos period;            // in which the demand is sent; zero: not known
  planner::Demand demand;  // its background is not used
  // Bytes by LinkId that are neither the job's nor a lease's; may be empty, for none.
  std::function<Result<std::vector<double>>(const Snapshot& snapshot)> background;
  planner::PathPlanOptions options;
};

enum class Turn : uint8_t {
  kKept,       // renewed
  kMoved,      // renewed, with a new plan
  kTakenAnew,  // it had expired or was removed, and is taken again with the plan as it is
  kLost,       // it had expired, and another holder has the job's name: nothing is published
};

class Tenant {
 public:
  // `store` and `topology` must outlive it.
  Tenant(Store& store, const topology::Topology& topology, TenantSetting setting);

  // Plans and publishes. Errors: those of the store and of plan_paths(); kInvalid for a name that
  // no job may have; kTimeout where others publish all the time; kCancelled after a signal.
  Result<void> take();
  // To be called params::kRenewals times within the time to live. On errors the lease may live on:
  // call it again. After kLost: kLost, until the job's name is free again.
  Result<Turn> turn();
  Result<void> release();

  const planner::PathPlan& plan() const { return plan_; }
  const Lease& lease() const { return lease_; }
  // Leases beside which it was planned, and what was left out, one sentence each.
  size_t beside() const { return beside_; }
  const std::vector<std::string>& notes() const { return notes_; }
  // The time of the most loaded of its links before and with the last move, ns.
  double longest_before_move() const { return before_move_; }
  double longest() const { return longest_; }
  // Plans that it has made so far.
  uint64_t plans_made() const { return plans_made_; }

 private:
  Result<std::vector<double>> loads_of_others(const Snapshot& snapshot);
  // The lease as it is with a plan.
  Lease lease_with(const planner::PathPlan& plan);
  std::vector<double> own_loads() const;
  void adopt(Lease lease, planner::PathPlan plan, const Snapshot& seen);
  Result<Turn> consider(const Snapshot& snapshot);
  Turn stay(const Snapshot& snapshot, double longest);
  bool can_gain(const std::vector<double>& own, const std::vector<double>& others,
                double worth_below) const;
  Result<Published> publish(const Snapshot& snapshot, const Lease& lease, Claim claim);
  Result<Turn> take_anew();
  Result<Turn> take_back();

  Store& store_;
  const topology::Topology& topology_;
  TenantSetting setting_;
  planner::JobOnFabric on_fabric_;
  Lease lease_;
  planner::PathPlan plan_;
  std::string considered_;  // the others' leases beside which it was planned, or stayed
  std::vector<double> considered_loads_;  // beside which it was planned last
  std::string seen_version_;              // of the store, with the own lease; empty: not seen yet
  std::string holders_;                   // the others when the moves were counted from zero
  int moves_ = 0;                         // since then
  size_t beside_ = 0;
  std::vector<std::string> notes_;
  double before_move_ = 0;
  double longest_ = 0;
  uint64_t plans_made_ = 0;
  bool unsure_ = false;  // whether what was published last is there: an answer did not come
  bool lost_ = false;
};

}  // namespace heddle::leases
