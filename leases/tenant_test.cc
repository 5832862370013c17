// Jobs that share a fabric: each plans beside the others, moves when that is worth it, and after
// each change all come to rest.
#include "leases/tenant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/random.h"
#include "leases/params.h"
#include "planner/shared_fabric.h"
#include "topology/generators.h"

namespace heddle::leases {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

topology::Topology fabric(uint64_t seed = 1) {
  return topology::leaf_spine({.leaves = 4, .spines = 4, .hosts_per_leaf = 8, .hash_seed = seed});
}

// Leases in memory, which expire when a test says so.
class MemoryStore : public Store {
 public:
  Result<Snapshot> read() override {
    Snapshot snapshot;
    for (const auto& [job, lease] : leases_) {
      snapshot.live.push_back({lease, lease.ttl});
      snapshot.version += job + lease.holder + std::to_string(lease.plans) + ";";
    }
    return snapshot;
  }
  Result<std::string> version() override { return read()->version; }
  Result<Published> publish(const Snapshot& seen, const Lease& lease) override {
    const auto found = leases_.find(lease.job);
    const bool own = found != leases_.end() && found->second.holder == lease.holder;
    if (lease.plans > 1 && !own) return Published::kLost;
    if (found != leases_.end() && !own) return name_in_use(lease, {found->second, seconds(1)});
    if (*version() != seen.version) return Published::kChanged;
    leases_[lease.job] = lease;
    return Published::kDone;
  }
  Result<bool> renew(const Lease& lease) override {
    const auto found = leases_.find(lease.job);
    return found != leases_.end() && found->second.holder == lease.holder;
  }
  Result<void> release(const Lease& lease) override {
    if (*renew(lease)) leases_.erase(lease.job);
    return {};
  }
  void expire(const std::string& job) { leases_.erase(job); }

 private:
  std::map<std::string, Lease> leases_;
};

class TenantTest : public testing::Test {
 protected:
  using Flows = std::vector<std::pair<uint32_t, uint32_t>>;

  std::unique_ptr<Tenant> tenant(const std::string& job, const topology::Topology& topology,
                                 const Flows& flows, uint64_t bytes = 100'000'000) {
    TenantSetting setting{.job = job,
                          .ttl = seconds(60),
                          .period = {},
                          .demand = planner::demand_of_flows({}, topology),
                          .options = {}};
    setting.options.most_parts = 1;
    for (const auto& [from, to] : flows) setting.demand.flows.push_back({from, to, bytes});
    return std::make_unique<Tenant>(store_, topology, std::move(setting));
  }
  void taken(Tenant& tenant) {
    const Result<void> taken = tenant.take();
    ASSERT_TRUE(taken.has_value()) << taken.error().message();
  }
  Turn turned(Tenant& tenant) {
    const Result<Turn> turn = tenant.turn();
    EXPECT_TRUE(turn.has_value());
    return turn.value_or(Turn::kLost);
  }

  MemoryStore store_;
};

// Links between switches that a lease loads.
std::vector<uint32_t> used_between(const topology::Topology& topology, const Lease& lease) {
  const planner::Fabric fabric(topology, {});
  std::vector<uint32_t> links;
  for (const LinkBytes& each : lease.loads) {
    if (fabric.is_between_switches(each.link)) links.push_back(each.link);
  }
  return links;
}

TEST_F(TenantTest, EachTakesLinksThatTheOthersLeaveFree) {
  const topology::Topology topology = fabric();
  std::vector<std::unique_ptr<Tenant>> tenants;
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 4; ++i) {  // four flows from leaf 0 to leaf 1, four spines
    tenants.push_back(tenant("job" + std::to_string(i), topology, {{i, 8 + i}}));
    taken(*tenants.back());
    EXPECT_EQ(tenants.back()->beside(), i);
    for (const uint32_t link : used_between(topology, tenants.back()->lease())) {
      all.push_back(link);
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_THAT(tenants[0]->lease().busiest[0].name, HasSubstr("leaf0 -> spine"));
}

TEST_F(TenantTest, BytesCountByThePeriodWhereBothHaveOne) {
  const topology::Topology topology = fabric();
  TenantSetting setting{.job = "slow",
                        .ttl = seconds(60),
                        .period = seconds(10),
                        .demand = planner::demand_of_flows({}, topology),
                        .options = {}};
  setting.demand.flows.push_back({0, 8, 1'000'000});
  Tenant slow(store_, topology, setting);
  taken(slow);
  setting.job = "fast";
  setting.period = seconds(1);
  setting.demand.flows = {{0, 9, 1'000}};
  Tenant fast(store_, topology, setting);
  taken(fast);
  // 1,000,000 bytes in 10 s are 100,000 in 1 s, on the link of host 0's NIC.
  const planner::Fabric links(topology, {});
  EXPECT_NEAR(fast.longest(), 101'000 / links.rate(links.egress(0)), 1);
}

TEST_F(TenantTest, OthersTopologiesAreLeftOutWithASentence) {
  const topology::Topology one = fabric(1);
  const topology::Topology two = fabric(2);
  const auto a = tenant("a", one, {{0, 8}});
  const auto b = tenant("b", two, {{1, 9}});
  taken(*a);
  taken(*b);
  EXPECT_EQ(b->beside(), 0U);
  EXPECT_THAT(b->notes(), ElementsAre(HasSubstr("'a' is for another topology")));
}

TEST_F(TenantTest, AHolderThatWasPausedTakesItsLeaseAnewOrLosesIt) {
  const topology::Topology topology = fabric();
  const auto a = tenant("a", topology, {{0, 8}});
  taken(*a);
  const std::string before = a->lease().holder;
  store_.expire("a");
  EXPECT_EQ(turned(*a), Turn::kTakenAnew);
  EXPECT_NE(a->lease().holder, before);
  store_.expire("a");
  const auto successor = tenant("a", topology, {{1, 9}});
  taken(*successor);
  EXPECT_EQ(turned(*a), Turn::kLost);
  EXPECT_EQ(turned(*a), Turn::kLost);
  EXPECT_TRUE(a->release().has_value());
  EXPECT_EQ(turned(*successor), Turn::kKept);
}

// The other job has three of four spines, so both flows are best on the fourth; when it is gone,
// they are not.
TEST_F(TenantTest, AJobMovesToLinksThatAreFreeAgain) {
  const topology::Topology topology = fabric();
  const auto big = tenant("big", topology, {{0, 8}, {1, 9}, {2, 10}}, 1'000'000'000);
  const auto small = tenant("small", topology, {{3, 11}, {4, 12}});
  taken(*big);
  taken(*small);
  EXPECT_EQ(turned(*small), Turn::kKept);
  ASSERT_TRUE(big->release().has_value());
  EXPECT_EQ(turned(*small), Turn::kMoved);
  EXPECT_EQ(small->lease().plans, 2U);
  EXPECT_NEAR(small->longest(), small->longest_before_move() / 2, small->longest() * 0.01);
  EXPECT_EQ(turned(*small), Turn::kKept);
}

// Jobs come and go at random. Each move gains a tenth at least, and after each change all rest
// within a few rounds, in any order of turns: no two jobs move back and forth.
TEST_F(TenantTest, JobsComeToRestAfterEachChange) {
  const topology::Topology topology = fabric(7);
  Random random(11);
  constexpr size_t kJobs = 8;
  std::vector<std::unique_ptr<Tenant>> tenants(kJobs);
  size_t moves = 0;
  for (int change = 0; change < 60; ++change) {
    const size_t at = random.below(kJobs);
    if (tenants[at]) {
      ASSERT_TRUE(tenants[at]->release().has_value());
      tenants[at].reset();
    } else {
      Flows flows;
      for (uint32_t i = 0; i < 2 + random.below(6); ++i) {
        const auto from = static_cast<uint32_t>(random.below(32));
        flows.push_back({from, static_cast<uint32_t>((from + 8 + random.below(16)) % 32)});
      }
      tenants[at] = tenant("job" + std::to_string(at), topology, flows);
      taken(*tenants[at]);
    }
    int rounds = 0;
    for (bool moved = true; moved; ++rounds) {
      ASSERT_LT(rounds, 10) << "change " << change;
      moved = false;
      for (size_t i = 0; i < kJobs; ++i) {
        Tenant* const each = tenants[(i + at) % kJobs].get();
        if (each == nullptr || turned(*each) != Turn::kMoved) continue;
        EXPECT_LE(each->longest(), each->longest_before_move() * (1 - params::kWorthMoving));
        moved = true;
        ++moves;
      }
    }
  }
  EXPECT_GT(moves, 0U);
}

}  // namespace
}  // namespace heddle::leases
