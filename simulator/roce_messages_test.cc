// Messages of programs over the RoCE NICs of a run, besides its flows.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "simulator/flow_run.h"
#include "simulator/roce_host.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr topology::LinkShape kLink{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};

struct Ends final : RoceMessageUser {
  void handle_message_arrived(uint32_t message) override { arrived.push_back(message); }
  void handle_message_acked(uint32_t message) override { acked.push_back(message); }
  void handle_message_failed(uint32_t message) override { failed.push_back(message); }

  std::vector<uint32_t> arrived;
  std::vector<uint32_t> acked;
  std::vector<uint32_t> failed;
};

// A flow that begins late enough for the messages to end before.
topology::Workload late_flow() {
  return {.flows = {{.id = 1, .from = 0, .to = 1, .bytes = {4'096'000}, .start = seconds(1)}}};
}

class RoceMessagesTest : public testing::Test {
 protected:
  void make(const topology::Topology& topology) {
    run_ = std::make_unique<FlowRun>(topology, late_flow(), FlowRunOptions{.roce = RoceOptions{}});
    for (uint32_t host = 0; host < 2; ++host) run_->roce_host(host).set_message_user(&ends_);
  }
  bool send(uint32_t message, uint64_t bytes) {
    return run_->roce_host(0).send_message(run_->roce_host(1), message, bytes);
  }
  void go_on(Nanos until) {
    while (run_->advance(until, 100'000)) {
    }
  }

  std::unique_ptr<FlowRun> run_;
  Ends ends_;
};

TEST_F(RoceMessagesTest, ArriveInOrderBesideFlowsOfTheSameQueuePair) {
  make(topology::parallel_paths(1, kLink, kLink));
  EXPECT_TRUE(send(5, 1'000'000));
  EXPECT_TRUE(send(6, 0));
  EXPECT_TRUE(send(RoceHost::kMessages - 1, 4'096));
  go_on(millis(900));
  const std::vector<uint32_t> all = {5, 6, RoceHost::kMessages - 1};
  EXPECT_EQ(ends_.arrived, all);
  EXPECT_EQ(ends_.acked, all);
  EXPECT_EQ(run_->totals().segments_sent, 245u + 1 + 1) << "an empty message is a packet";
  go_on(seconds(2));
  EXPECT_EQ(run_->ended(), 1u);
  EXPECT_EQ(run_->wrong(), 0u);
  EXPECT_TRUE(ends_.failed.empty());
}

TEST_F(RoceMessagesTest, ReachHostsWithoutFlows) {
  make(topology::leaf_spine(
      {.leaves = 2, .spines = 2, .hosts_per_leaf = 2, .host_link = kLink, .spine_link = kLink}));
  run_->roce_host(3).set_message_user(&ends_);
  EXPECT_TRUE(run_->roce_host(3).send_message(run_->roce_host(0), 1, 10'000));
  go_on(millis(1));
  EXPECT_EQ(ends_.acked, std::vector<uint32_t>{1});
}

TEST_F(RoceMessagesTest, FailWithTheirQueuePair) {
  topology::Topology topology = topology::parallel_paths(1, kLink, kLink);
  topology.changes = {{.at = micros(50), .link = 2, .kind = topology::LinkChangeKind::kDown}};
  make(topology);
  EXPECT_TRUE(send(1, 4'096'000));
  EXPECT_TRUE(send(2, 4'096'000));
  go_on(millis(900));
  EXPECT_EQ(ends_.failed, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(ends_.arrived.empty());
  EXPECT_FALSE(send(3, 1));
}

}  // namespace
}  // namespace heddle::simulator
