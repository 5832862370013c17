// The rendezvous over a simulated fabric that loses packets, on virtual time: rank 0's store and
// the other ranks, which come in any order; one may be killed and started again.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "collectives/rendezvous/seeker.h"
#include "collectives/rendezvous/store.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::collectives {
namespace {

using simulator::Network;
using simulator::SimDatapath;

constexpr uint32_t kRanks = 6;
constexpr uint16_t kStorePort = 99;
constexpr uint32_t kLossPerMillion = 20'000;

class SimulatedRendezvous : public testing::TestWithParam<uint64_t> {
 protected:
  struct Rank {
    std::unique_ptr<engine::Endpoint> endpoint;
    std::unique_ptr<Seeker> seeker;
  };

  void SetUp() override {
    topology::Topology topology =
        topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = kRanks / 2});
    for (topology::Link& link : topology.links) {
      link.forward.loss_per_million = link.backward.loss_per_million = kLossPerMillion;
    }
    network_ = std::make_unique<Network>(topology, simulator::NetworkOptions{}, GetParam());
    ranks_.resize(kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) ranks_[rank].endpoint = attach(rank, 4791);
    // The address of the future store; no process listens there yet.
    store_at_ = ranks_[0].endpoint->local_address();
    store_at_.port = kStorePort;
  }

  std::unique_ptr<engine::Endpoint> attach(uint32_t host, uint16_t port) {
    simulator::SimDatapathOptions network;
    network.nic = host;
    network.port = port;
    engine::Options options;
    options.drive = engine::Drive::kExternal;
    options.seed = GetParam() * 1000 + ++lives_;
    options.transport.accept = true;
    options.eager_bytes = mebibytes(1);
    auto datapath = std::make_shared<SimDatapath>(*network_, network);
    return std::move(engine::Endpoint::create(datapath, options)).value();
  }

  Registration self(uint32_t rank) {
    return {.rank = rank,
            .size = kRanks,
            .process = ++processes_,
            .patience = seconds(30),
            .run = "simulated",
            .host = "h" + std::to_string(rank),
            .bound = ranks_[rank].endpoint->local_address()};
  }

  void begin(uint32_t rank) {
    if (rank == 0) {
      store_endpoint_ = attach(0, kStorePort);
      store_.emplace(*store_endpoint_, self(0), 4711);
      return;
    }
    ranks_[rank].seeker = std::make_unique<Seeker>(
        *ranks_[rank].endpoint, self(rank), [this]() -> Result<std::vector<StorePlace>> {
          return std::vector<StorePlace>{{.address = store_at_}};
        });
  }

  // Drops all its packets first, so the close of its endpoint is not received.
  void kill(uint32_t rank) {
    set_loss(rank, 1'000'000);
    ranks_[rank].seeker = nullptr;
    ranks_[rank].endpoint = nullptr;
    run_until([] { return false; }, millis(100));
    set_loss(rank, kLossPerMillion);
  }

  void set_loss(uint32_t host, uint32_t per_million) {
    network_->apply({.link = host,
                     .kind = topology::LinkChangeKind::kFaults,
                     .faults = {.loss_per_million = per_million}});
  }

  // One turn of every process; then virtual time advances to the next event.
  void step() {
    Nanos next = network_->now() + millis(10);
    if (store_) {
      next = std::min(next, store_endpoint_->turn());
      store_->turn();
    }
    for (Rank& rank : ranks_) {
      if (!rank.endpoint) continue;
      next = std::min(next, rank.endpoint->turn());
      if (rank.seeker) next = std::min(next, rank.seeker->turn());
    }
    if (next <= network_->now()) return;
    if (network_->next_event_at() <= next) {
      network_->step();
    } else {
      network_->run_until(next);
    }
  }

  template <typename Done>
  bool run_until(Done done, Nanos limit) {
    const Nanos end = network_->now() + limit;
    while (!done() && network_->now() < end) step();
    return done();
  }

  bool all_know() const {
    return store_ && store_->outcome() &&
           std::all_of(ranks_.begin() + 1, ranks_.end(),
                       [](const Rank& rank) { return rank.seeker && rank.seeker->outcome(); });
  }

  void expect_the_group() const {
    ASSERT_TRUE(*store_->outcome()) << store_->outcome()->error().message();
    for (uint32_t rank = 1; rank < kRanks; ++rank) {
      const Result<Group>& result = *ranks_[rank].seeker->outcome();
      ASSERT_TRUE(result) << result.error().message();
      EXPECT_EQ(result->rank, rank);
      EXPECT_EQ(result->job, 4711U);
      for (uint32_t other = 0; other < kRanks; ++other) {
        EXPECT_EQ(result->addresses[other], ranks_[other].endpoint->local_address());
        EXPECT_EQ(result->hosts[other], "h" + std::to_string(other));
      }
    }
  }

  std::unique_ptr<Network> network_;
  std::vector<Rank> ranks_;
  std::optional<Store> store_;  // after what its endpoint may still read
  std::unique_ptr<engine::Endpoint> store_endpoint_;
  transport::Address store_at_;
  uint64_t processes_ = 0;
  uint64_t lives_ = 0;
};

TEST_P(SimulatedRendezvous, RanksThatComeInAnyOrderMeet) {
  Random random(GetParam());
  std::vector<uint32_t> order(kRanks);
  for (uint32_t rank = 0; rank < kRanks; ++rank) order[rank] = rank;
  for (uint32_t rank = kRanks; rank > 1; --rank)
    std::swap(order[rank - 1], order[random.below(rank)]);
  for (const uint32_t rank : order) {
    begin(rank);
    run_until([] { return false; }, millis(static_cast<int64_t>(random.below(700))));
  }
  ASSERT_TRUE(run_until([this] { return all_know(); }, seconds(20)));
  expect_the_group();
  EXPECT_TRUE(run_until([this] { return store_->done(); }, seconds(20)));
}

TEST_P(SimulatedRendezvous, ARankThatWasKilledAndStartedAgainTakesItsPlace) {
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) begin(rank);
  run_until([] { return false; }, seconds(1));
  kill(2);
  run_until([] { return false; }, seconds(8));  // longer than it takes to notice
  ranks_[2].endpoint = attach(2, 4791);
  begin(2);
  begin(kRanks - 1);
  ASSERT_TRUE(run_until([this] { return all_know(); }, seconds(20)));
  expect_the_group();
}

// Its host becomes silent, so the ranks receive no close.
TEST_P(SimulatedRendezvous, RanksFindARank0ThatWasKilledAndStartedAgain) {
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) begin(rank);
  run_until([] { return false; }, seconds(6));  // paths have been measured by then
  set_loss(0, 1'000'000);
  store_endpoint_ = nullptr;
  store_.reset();
  run_until([] { return false; }, millis(100));
  set_loss(0, kLossPerMillion);
  begin(0);
  begin(kRanks - 1);
  ASSERT_TRUE(run_until([this] { return all_know(); }, seconds(20)));
  expect_the_group();
}

TEST_P(SimulatedRendezvous, WaitingRanksGetTheNamesOfTheMissing) {
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    if (rank != 3) begin(rank);
  }
  const auto told = [this] {
    return std::count_if(ranks_.begin(), ranks_.end(),
                         [](const Rank& rank) { return rank.seeker && rank.seeker->outcome(); });
  };
  ASSERT_TRUE(run_until([&] { return told() == kRanks - 2; }, seconds(30)));
  for (const Rank& rank : ranks_) {
    if (!rank.seeker) continue;
    EXPECT_THAT(rank.seeker->outcome()->error().why, testing::HasSubstr("rank 3 of 6"));
  }
}

TEST_P(SimulatedRendezvous, ARankThatFellSilentIsMissing) {
  for (uint32_t rank = 0; rank + 1 < kRanks; ++rank) begin(rank);
  run_until([] { return false; }, seconds(3));
  EXPECT_THAT(store_->missing(seconds(1)).why, testing::HasSubstr("rank 5 of 6"));
  set_loss(2, 1'000'000);
  run_until([] { return false; }, seconds(9));
  EXPECT_THAT(store_->missing(seconds(1)).why, testing::HasSubstr("ranks 2, 5 of 6"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedRendezvous, testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace heddle::collectives
