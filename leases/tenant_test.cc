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
  Result<Published> publish(const Snapshot& seen, const Lease& lease, Claim claim) override {
    if (busy_ > 0 && --busy_ > 0) {
      Lease other = lease;
      other.job = "busy";
      other.holder = new_holder();
      leases_["busy"] = other;
    }
    if (no_answers_ > 0 && --no_answers_ >= 0) {
      static_cast<void>(stored(seen, lease, claim));
      return fail(ErrorCode::kTimeout, "no answer", "", "");
    }
    return stored(seen, lease, claim);
  }
  Result<Published> stored(const Snapshot& seen, const Lease& lease, Claim claim) {
    const auto found = leases_.find(lease.job);
    const bool own = found != leases_.end() && found->second.holder == lease.holder;
    if (claim == Claim::kNext && !own) return Published::kLost;
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
  // The next publications are done, and their answers do not come.
  void lose_answers(int count) { no_answers_ = count; }
  // Another job publishes before each of the next ones.
  void be_busy(int count) { busy_ = count; }
  const Lease& at(const std::string& job) const { return leases_.at(job); }

 private:
  int no_answers_ = 0;
  int busy_ = 0;
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
  EXPECT_EQ(a->lease().holder, before);
  EXPECT_EQ(a->lease().plans, 2U);
  EXPECT_EQ(store_.at("a"), a->lease());
  store_.expire("a");
  const auto successor = tenant("a", topology, {{1, 9}});
  taken(*successor);
  EXPECT_EQ(turned(*a), Turn::kLost);
  EXPECT_EQ(turned(*a), Turn::kLost);
  EXPECT_TRUE(a->release().has_value());
  EXPECT_EQ(turned(*successor), Turn::kKept);
  ASSERT_TRUE(successor->release().has_value());
  EXPECT_EQ(turned(*a), Turn::kTakenAnew);
  EXPECT_EQ(store_.at("a"), a->lease());
}

// A job whose publication was done and not answered must not take its own lease for another's.
TEST_F(TenantTest, AnAnswerThatDoesNotComeLosesNoLease) {
  const topology::Topology topology = fabric();
  const auto big = tenant("big", topology, {{0, 8}, {1, 9}, {2, 10}}, 1'000'000'000);
  const auto small = tenant("small", topology, {{3, 11}, {4, 12}});
  taken(*big);
  taken(*small);
  ASSERT_TRUE(big->release().has_value());
  store_.lose_answers(1);
  EXPECT_FALSE(small->turn().has_value());
  EXPECT_EQ(turned(*small), Turn::kMoved);
  EXPECT_EQ(store_.at("small"), small->lease());
  store_.expire("small");
  store_.lose_answers(1);
  EXPECT_FALSE(small->turn().has_value());
  EXPECT_EQ(turned(*small), Turn::kKept);
  EXPECT_EQ(store_.at("small"), small->lease());
  EXPECT_EQ(small->lease().plans, 5U);  // each publication has another number
}

TEST_F(TenantTest, OthersThatPublishAllTheTimeDelayAJobOnlyForSomePlans) {
  const topology::Topology topology = fabric();
  const auto a = tenant("a", topology, {{0, 8}});
  store_.be_busy(params::kMostAttempts + 1);
  EXPECT_EQ(a->take().error().code, ErrorCode::kTimeout);
  store_.be_busy(params::kAttemptsWithPlan + 3);
  taken(*a);
  EXPECT_EQ(store_.at("a"), a->lease());
}

// A job that was paused sends all the same: its loads come back before anything is planned.
TEST_F(TenantTest, AJobThatTakesItsLeaseAnewPublishesTheLoadsThatItHas) {
  const topology::Topology topology = fabric();
  const auto big = tenant("big", topology, {{0, 8}, {1, 9}, {2, 10}}, 1'000'000'000);
  const auto small = tenant("small", topology, {{3, 11}, {4, 12}});
  taken(*big);
  taken(*small);
  const std::vector<LinkBytes> before = small->lease().loads;
  const int64_t since = small->lease().since_s;
  ASSERT_TRUE(big->release().has_value());
  store_.expire("small");
  EXPECT_EQ(turned(*small), Turn::kTakenAnew);
  EXPECT_EQ(store_.at("small").loads, before);
  EXPECT_EQ(store_.at("small").since_s, since);
  EXPECT_EQ(turned(*small), Turn::kMoved);
}

// Links that no flow of the job takes, as hot as they may be, and shares of several routes.
TEST_F(TenantTest, AHotLinkElsewhereDoesNotHideWhatAMoveGains) {
  const topology::Topology topology = fabric();
  const planner::Fabric links(topology, {});
  TenantSetting setting{.job = "a",
                        .ttl = seconds(60),
                        .period = {},
                        .demand = planner::demand_of_flows({}, topology),
                        .options = {}};
  for (uint32_t i = 0; i < 5; ++i) setting.demand.flows.push_back({i, 8 + i, 100'000'000});
  setting.background = [&](const Snapshot&) {
    std::vector<double> bytes(2 * topology.links.size());
    for (const uint32_t link : links.links_from(3)) bytes[link] = 1e13;
    return Result<std::vector<double>>(bytes);
  };
  const auto big = tenant("big", topology, {{5, 13}, {6, 14}, {7, 15}}, 1'000'000'000);
  taken(*big);
  Tenant a(store_, topology, setting);
  taken(a);
  EXPECT_NEAR(a.plan().planned.between_switches, a.longest(), a.longest() * 0.01);
  ASSERT_TRUE(big->release().has_value());
  EXPECT_EQ(turned(a), Turn::kMoved);
  EXPECT_GT(a.plan().parts, 1U);
  // Five flows over four spines.
  const double rate = links.rate(links.links_from(0)[0]);
  EXPECT_NEAR(a.longest(), 5 * 100e6 / 4 / rate, a.longest() * 0.02);
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

// A plan takes time by all flows of a job, and most changes of leases concern none of them.
TEST_F(TenantTest, NoPlanIsMadeWhereNoneCanBeWorthAMove) {
  const topology::Topology topology = fabric();
  const auto big = tenant("big", topology, {{0, 8}, {1, 9}, {2, 10}}, 1'000'000'000);
  const auto small = tenant("small", topology, {{3, 11}, {4, 12}});
  taken(*big);
  taken(*small);
  EXPECT_EQ(small->plans_made(), 1U);
  // Between leaves where the job has no host.
  const auto elsewhere = tenant("elsewhere", topology, {{16, 24}, {17, 25}});
  taken(*elsewhere);
  EXPECT_EQ(turned(*small), Turn::kKept);
  EXPECT_EQ(small->plans_made(), 1U);
  // On links that it can take, which makes them slower.
  const auto near = tenant("near", topology, {{5, 13}});
  taken(*near);
  EXPECT_EQ(turned(*small), Turn::kKept);
  EXPECT_EQ(small->plans_made(), 2U);
  ASSERT_TRUE(big->release().has_value());
  EXPECT_EQ(turned(*small), Turn::kMoved);
  EXPECT_EQ(small->plans_made(), 3U);
}

TEST_F(TenantTest, NoPlanIsMadeWhereAJobsNicsTakeLongest) {
  const topology::Topology topology = fabric();
  const auto one = tenant("one", topology, {{0, 8}});
  taken(*one);
  const auto other = tenant("other", topology, {{1, 9}, {2, 10}});
  taken(*other);
  EXPECT_EQ(turned(*one), Turn::kKept);
  ASSERT_TRUE(other->release().has_value());
  EXPECT_EQ(turned(*one), Turn::kKept);
  EXPECT_EQ(one->plans_made(), 1U);
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
