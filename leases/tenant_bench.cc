// Time of a job's turn after another job's lease has come or gone: a ring of 2,048 hosts through 64
// leaves of a fabric of 16,384 hosts with 8 rails. The other job is on other leaves, or on other
// hosts of the same leaves; their uplinks are as fast as the NICs, or a quarter of that.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>

#include "leases/tenant.h"
#include "topology/generators.h"

namespace heddle::leases {
namespace {

constexpr uint32_t kRails = 8;
constexpr uint32_t kHostsOfLeaf = 64;
constexpr uint32_t kHosts = 16'384;
constexpr uint32_t kOwnHosts = 2'048;

// In memory, without competitors.
class OneStore : public Store {
 public:
  Result<Snapshot> read() override {
    Snapshot snapshot;
    for (const auto& [job, lease] : leases_) snapshot.live.push_back({lease, lease.ttl});
    snapshot.version = std::to_string(changes_);
    return snapshot;
  }
  Result<std::string> version() override { return std::to_string(changes_); }
  Result<Published> publish(const Snapshot&, const Lease& lease, Claim) override {
    ++changes_;
    leases_[lease.job] = lease;
    return Published::kDone;
  }
  Result<bool> renew(const Lease&) override { return true; }
  Result<void> release(const Lease& lease) override {
    ++changes_;
    leases_.erase(lease.job);
    return {};
  }

 private:
  uint64_t changes_ = 0;
  std::map<std::string, Lease> leases_;
};

topology::Topology fabric(uint32_t spines) {
  return topology::leaf_spine({.leaves = kHosts / kHostsOfLeaf * kRails,
                               .spines = spines,
                               .hosts_per_leaf = kHostsOfLeaf,
                               .nics_per_host = kRails,
                               .rails = true});
}

// Of every second host from `first` on.
TenantSetting ring(const topology::Topology& topology, const std::string& job, uint32_t first) {
  TenantSetting setting{.job = job,
                        .ttl = seconds(60),
                        .period = {},
                        .demand = planner::demand_of_flows({}, topology),
                        .background = {},
                        .options = {.paths = 256, .failed_links = {}}};
  for (uint32_t i = 0; i < kOwnHosts; ++i) {
    const uint32_t next = (i + kHostsOfLeaf / 2) % kOwnHosts;
    setting.demand.flows.push_back({first + 2 * i, first + 2 * next, uint64_t{64} << 20});
  }
  return setting;
}

void measure(benchmark::State& state, uint32_t spines, uint32_t first_of_other) {
  const topology::Topology topology = fabric(spines);
  OneStore store;
  Tenant tenant(store, topology, ring(topology, "own", 0));
  Tenant other(store, topology, ring(topology, "other", first_of_other));
  if (!tenant.take()) return state.SkipWithError("not taken");
  bool there = false;
  for (auto _ : state) {
    state.PauseTiming();
    if (there ? !other.release() : !other.take()) return state.SkipWithError("no change");
    there = !there;
    state.ResumeTiming();
    if (!tenant.turn()) return state.SkipWithError("no turn");
  }
}

void BM_TurnAfterALeaseElsewhere(benchmark::State& state) { measure(state, 64, kHosts / 2); }
void BM_TurnAfterALeaseOnItsLeaves(benchmark::State& state) { measure(state, 64, 1); }
void BM_TurnAfterALeaseOnItsFullLeaves(benchmark::State& state) { measure(state, 16, 1); }

BENCHMARK(BM_TurnAfterALeaseElsewhere)->Iterations(6)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TurnAfterALeaseOnItsLeaves)->Iterations(6)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TurnAfterALeaseOnItsFullLeaves)->Iterations(6)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::leases
