// Processes with the production driver and transport on the simulated network: transfers with and
// without faults; stopped, absent, killed and vanished processes.
#include "simulator/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/testing/stream.h"
#include "topology/file.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using topology::LinkShape;

TransportProcessOptions at_nic(NicId nic) {
  TransportProcessOptions options;
  options.process.datapath.nic = nic;
  options.process.datapath.receive_capacity = mebibytes(1);
  options.transport.accept = true;
  return options;
}

LinkShape ten_gigabits() {
  LinkShape shape;
  shape.rate = gigabits_per_s(10);
  shape.delay = micros(5);
  return shape;
}

// A sender on NIC 0 and a receiver on NIC 1.
class TransferTest : public testing::Test {
 protected:
  void make(const WorldOptions& options, StreamOptions stream, uint64_t seed = 1) {
    world_.emplace(options, seed);
    TransportProcess& sender = world_->add(with_chunks(at_nic(0)));
    TransportProcess& receiver = world_->add(with_chunks(at_nic(1)));
    receiver_.emplace(receiver, stream);
    stream.peer = receiver.address();
    sender_.emplace(sender, stream);
  }
  TransportProcessOptions with_chunks(TransportProcessOptions options) const {
    options.process.datapath.chunk_paths = chunk_paths_;
    options.process.datapath.chunks.reliable = reliable_;
    options.process.datapath.chunks.stall_every = stall_every_;
    options.process.datapath.chunks.stall_for = millis(20);
    options.process.datapath.drops_gso_bursts = drops_gso_bursts_;
    return options;
  }
  bool run(Nanos limit) {
    return world_->run_until_done([this] { return sender_->done() && receiver_->done(); }, limit);
  }
  void expect_all_right() {
    EXPECT_TRUE(sender_->done() && receiver_->done());
    EXPECT_EQ(sender_->failed() + receiver_->failed(), 0u);
    EXPECT_THAT(receiver_->violations(), ElementsAre());
    EXPECT_EQ(receiver_->bytes_verified(), sender_->bytes_ended());
  }
  void TearDown() override {
    if (receiver_) receiver_->forget();
  }

  uint16_t chunk_paths_ = 0;
  bool reliable_ = false;
  uint32_t stall_every_ = 0;
  bool drops_gso_bursts_ = false;
  std::optional<World> world_;
  std::optional<Stream> sender_;
  std::optional<Stream> receiver_;
};

TEST_F(TransferTest, OneMessageArrives) {
  make({.topology = topology::point_to_point(ten_gigabits())}, {.message_bytes = 1'000'000});
  ASSERT_TRUE(run(seconds(1)));
  expect_all_right();
}

TEST_F(TransferTest, AGigabyteArrivesAtTheRateOfTheLink) {
  make({.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())},
       {.message_bytes = 64u << 20, .messages = 16});
  const Nanos start = world_->now();
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
  const BitsPerSec rate = rate_of({uint64_t{1} << 30}, receiver_->done_at() - start);
  EXPECT_GT(rate, gigabits_per_s(8));
  EXPECT_LT(rate, gigabits_per_s(10));
}

TEST_F(TransferTest, AllFaultsTogetherLoseNoByte) {
  WorldOptions options{.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())};
  for (topology::Link& link : options.topology.links) {
    link.forward = {.loss_per_million = 2'000,
                    .duplicate_per_million = 2'000,
                    .corrupt_header_per_million = 1'000,
                    .corrupt_payload_per_million = 1'000,
                    .reorder_per_million = 2'000,
                    .reorder_min = micros(1),
                    .reorder_max = micros(100)};
    link.backward = link.forward;
  }
  options.topology.changes = {{.at = millis(5), .link = 2, .kind = topology::LinkChangeKind::kDown},
                              {.at = millis(25), .link = 2, .kind = topology::LinkChangeKind::kUp},
                              {.at = millis(10),
                               .link = 3,
                               .kind = topology::LinkChangeKind::kRate,
                               .rate = megabits_per_s(100)}};
  make(options, {.message_bytes = 3'000'001, .messages = 20});
  ASSERT_TRUE(run(seconds(30)));
  expect_all_right();
  for (const Fate fate : {Fate::kLost, Fate::kDuplicated, Fate::kReordered, Fate::kChecksumDropped,
                          Fate::kLinkDown}) {
    EXPECT_GT(world_->network().fates()[fate], 0u) << name_of(fate);
  }
}

// Every call with several segments is lost, as under a filter that treats it as one large packet.
TEST_F(TransferTest, AnInterfaceThatDropsWholeBurstsOnlySlowsTheTransfer) {
  drops_gso_bursts_ = true;
  make({.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())},
       {.message_bytes = 4u << 20, .messages = 10});
  ASSERT_TRUE(run(seconds(3)));
  expect_all_right();
}

TEST_F(TransferTest, EqualSeedsGiveEqualHistoriesWithTheWholeStack) {
  std::vector<uint64_t> hashes;
  for (const uint64_t seed : {3, 3, 4}) {
    WorldOptions options{.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())};
    options.topology.links[2].forward.loss_per_million = 50'000;
    make(options, {.message_bytes = 500'000, .messages = 5}, seed);
    ASSERT_TRUE(run(seconds(10)));
    hashes.push_back(world_->network().trace_hash());
    receiver_->forget();
    receiver_.reset();
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
}

TEST_F(TransferTest, AStoppedReceiverThatResumesInTimeLosesNothing) {
  make({.topology = topology::point_to_point(ten_gigabits()),
        .changes = {{millis(2), 1, ProcessChangeKind::kPause},
                    {millis(2'500), 1, ProcessChangeKind::kResume}}},
       {.message_bytes = 4u << 20, .messages = 4});
  EXPECT_FALSE(run(millis(2'400)));
  EXPECT_EQ(sender_->failed(), 0u);
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
}

// A topology file for the lab runs in the simulator as well.
TEST_F(TransferTest, ATopologyFileIsSimulatedWithItsFaults) {
  Result<topology::Topology> fabric = topology::parse_topology(R"(version = 1
[fabric]
kind = "leaf_spine"
hosts_per_leaf = 1
[switch_link]
rate = "1Gbit/s"
loss = "0.1%"
[[fault]]
at = "10ms"
link = ["leaf0", "spine0"]
kind = "blackhole"
[[fault]]
at = "20ms"
host = "h1"
kind = "pause"
[[fault]]
at = "2020ms"
host = "h1"
kind = "resume"
)",
                                                               "fabric.toml");
  ASSERT_TRUE(fabric) << fabric.error().message();
  make({.topology = std::move(*fabric)}, {.message_bytes = 2u << 20, .messages = 4});
  EXPECT_FALSE(run(millis(2'000))) << "paused, and 8 MiB take 67 ms of one link";
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
  EXPECT_GT(world_->network().fates()[Fate::kLinkDown], 0u);
}

TEST_F(TransferTest, AProcessThatStaysStoppedIsDeclaredDead) {
  make({.topology = topology::point_to_point(ten_gigabits()),
        .changes = {{millis(2), 1, ProcessChangeKind::kPause}}},
       {.message_bytes = 4u << 20, .messages = 4});
  const Nanos start = world_->now();
  EXPECT_TRUE(world_->run_until_done([this] { return sender_->closed(); }, seconds(20)));
  EXPECT_GE(world_->now() - start, seconds(5));
  EXPECT_LE(world_->now() - start, seconds(8));
  EXPECT_GT(sender_->failed(), 0u);
  EXPECT_EQ(sender_->first_error(), ErrorCode::kPeerDead);
}

// One direction of the only link fails permanently. The side that receives nothing detects it first
// and notifies the other.
TEST_F(TransferTest, AfterAOneWayLinkFailureBothSidesFailWithinTenSeconds) {
  for (const auto direction :
       {topology::LinkDirection::kForward, topology::LinkDirection::kBackward}) {
    WorldOptions options{.topology = topology::point_to_point(ten_gigabits())};
    options.topology.changes = {{.at = millis(2),
                                 .link = 0,
                                 .direction = direction,
                                 .kind = topology::LinkChangeKind::kDown}};
    make(options, {.message_bytes = 64u << 20, .messages = 4});
    const Nanos start = world_->now();
    ASSERT_TRUE(world_->run_until_done([this] { return sender_->closed() && receiver_->closed(); },
                                       seconds(20)));
    EXPECT_GE(world_->now() - start, seconds(5));
    EXPECT_LE(world_->now() - start, seconds(10));
    EXPECT_EQ(sender_->first_error(), ErrorCode::kPeerDead);
    EXPECT_EQ(receiver_->first_error(), ErrorCode::kPeerDead);
    receiver_->forget();
    receiver_.reset();
  }
}

// A minute without a call: the helper answers, so no peer is declared dead and the transfer of
// posted messages continues.
TEST_F(TransferTest, AReceiverWhoseCallerIsAwayStaysAlive) {
  make({.topology = topology::point_to_point(ten_gigabits()),
        .changes = {{millis(1), 1, ProcessChangeKind::kCallerAway},
                    {seconds(61), 1, ProcessChangeKind::kCallerBack}}},
       {.message_bytes = 8u << 20, .messages = 6, .ahead = 2});
  EXPECT_FALSE(run(seconds(60)));
  EXPECT_FALSE(sender_->closed());
  EXPECT_EQ(sender_->ended(), 2u) << "what was posted arrived, driven by the helper";
  const uint64_t repeated = sender_->statistics()->payload_bytes_retransmitted;
  EXPECT_LT(repeated, 1u << 20) << "nothing is sent again and again";
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
}

TEST_F(TransferTest, AVanishedHostIsDeclaredDead) {
  make({.topology = topology::point_to_point(ten_gigabits()),
        .changes = {{millis(2), 0, ProcessChangeKind::kVanish}}},
       {.message_bytes = 4u << 20, .messages = 4});
  EXPECT_TRUE(world_->run_until_done([this] { return receiver_->closed(); }, seconds(20)));
  EXPECT_EQ(receiver_->first_error(), ErrorCode::kPeerDead);
  EXPECT_THAT(receiver_->violations(), ElementsAre());
}

TEST_F(TransferTest, AKilledProcessCanRestartAsANewOne) {
  make({.topology = topology::point_to_point(ten_gigabits()),
        .changes = {{millis(2), 0, ProcessChangeKind::kKill},
                    {seconds(10), 0, ProcessChangeKind::kStart}}},
       {.message_bytes = 4u << 20, .messages = 4});
  EXPECT_TRUE(world_->run_until_done([this] { return receiver_->closed(); }, seconds(9)));
  sender_.reset();
  auto& again = static_cast<TransportProcess&>(world_->process(0));
  again.set_program(nullptr);
  receiver_->forget();
  EXPECT_TRUE(world_->run_until_done([&] { return again.running(); }, seconds(10)));
  EXPECT_EQ(again.lives(), 2u);
  auto& other = static_cast<TransportProcess&>(world_->process(1));
  receiver_.emplace(other, StreamOptions{});
  sender_.emplace(again, StreamOptions{.peer = other.address()});
  ASSERT_TRUE(run(seconds(2)));
  expect_all_right();
}

TEST_F(TransferTest, AClosedConnectionIsRemovedOnBothSides) {
  make({.topology = topology::point_to_point(ten_gigabits())}, {.message_bytes = 100'000});
  sender_->close_when_done = true;
  ASSERT_TRUE(world_->run_until_done([this] { return sender_->closed() && receiver_->closed(); },
                                     seconds(2)));
  expect_all_right();
}

// The same tests on a network whose NICs write remotely.
class ChunkTransferTest : public TransferTest, public testing::WithParamInterface<bool> {
 protected:
  ChunkTransferTest() {
    chunk_paths_ = 4;
    reliable_ = GetParam();
  }
};

TEST_P(ChunkTransferTest, MessagesArriveByRemoteWrites) {
  make({.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())},
       {.message_bytes = 10'000'001, .messages = 20});
  const Nanos start = world_->now();
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
  const auto& receiver = static_cast<TransportProcess&>(world_->process(1)).datapath();
  EXPECT_GT(receiver.statistics().payload_placed_bytes, 150'000'000u);
  EXPECT_GT(rate_of({200'000'020}, receiver_->done_at() - start), gigabits_per_s(7));
}

TEST_P(ChunkTransferTest, FaultsAndLateWritesLoseNoByte) {
  WorldOptions options{.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())};
  for (size_t i = 2; i < 6; ++i) {
    options.topology.links[i].forward = {.loss_per_million = 1'000,
                                         .duplicate_per_million = 1'000,
                                         .corrupt_payload_per_million = 500,
                                         .reorder_per_million = 1'000,
                                         .reorder_min = micros(1),
                                         .reorder_max = millis(30)};
    options.topology.links[i].backward = options.topology.links[i].forward;
  }
  options.topology.changes = {{.at = millis(5), .link = 2, .kind = topology::LinkChangeKind::kDown},
                              {.at = millis(55), .link = 2, .kind = topology::LinkChangeKind::kUp}};
  make(options, {.message_bytes = 3'000'001, .messages = 20});
  ASSERT_TRUE(run(seconds(60)));
  expect_all_right();
  EXPECT_GT(world_->network().fates()[Fate::kWriteGap], 0u);
}

// A queue pair stalls for longer than its path counts as alive: its chunks travel as datagrams, and
// the program uses their buffers anew before the stall ends.
TEST_P(ChunkTransferTest, AStalledQueuePairReadsNoBufferOfAnEndedSend) {
  stall_every_ = 40;
  make({.topology = topology::parallel_paths(4, ten_gigabits(), ten_gigabits())},
       {.message_bytes = 3'000'001, .messages = 40, .ahead = 2, .reuses = true});
  ASSERT_TRUE(run(seconds(60)));
  expect_all_right();
}

std::string nic_name(const testing::TestParamInfo<bool>& info) {
  return info.param ? "reliable" : "unreliable";
}
INSTANTIATE_TEST_SUITE_P(Nic, ChunkTransferTest, testing::Bool(), nic_name);

// A receiver that needs longer per datagram than the wire loses data beyond its queue, unless the
// sender is throttled.
TEST_F(TransferTest, ASlowReceiverLimitsTheRate) {
  world_.emplace(WorldOptions{.topology = topology::point_to_point(ten_gigabits())}, 1);
  TransportProcess& sender = world_->add(at_nic(0));
  TransportProcessOptions slow = at_nic(1);
  slow.process.datagram_time = micros(15);  // the wire takes 7.2 us
  TransportProcess& receiver = world_->add(slow);
  StreamOptions stream{.message_bytes = 8u << 20, .messages = 4};
  receiver_.emplace(receiver, stream);
  stream.peer = receiver.address();
  sender_.emplace(sender, stream);
  ASSERT_TRUE(run(seconds(5)));
  expect_all_right();
}

}  // namespace
}  // namespace heddle::simulator
