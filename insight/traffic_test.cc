// The call to which each message belongs, and the bytes that the formulas expect, from synthetic
// events.
#include "insight/traffic.h"

#include <gtest/gtest.h>

#include "insight/matrix.h"
#include "topology/nccl_graph.h"

namespace heddle::insight {
namespace {

using events::Algorithm;
using events::CallEnded;
using events::CallMade;
using events::CallStarted;
using events::CommunicatorLinked;
using events::CommunicatorMade;
using events::ConnectionOpened;
using events::Direction;
using events::ElementType;
using events::Mark;
using events::MessageCompleted;
using events::Operation;
using events::SharedMessageCompleted;

constexpr uint64_t kWorld = 9;
constexpr uint16_t kHeading = 24;

// Two ranks with a connection for their communicator: 10 at rank 0, 11 at rank 1.
class TrafficTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      builder_.add_process({{"host", rank == 0 ? "h0" : "h1"}, {"rank", std::to_string(rank)}});
      add(rank, CommunicatorMade{{}, kWorld, rank, 2});
      const uint64_t peer = 0xffff0a000001 + (1 - rank);
      add(rank, ConnectionOpened{{}, 10 + rank, 11 - rank, 0, peer, 18700, 8});
      add(rank, CommunicatorLinked{{}, kWorld, 1 - rank, 10 + rank});
    }
  }

  template <typename Event>
  void add(uint32_t rank, Event event) {
    event.time = now_ += nanos(1);
    builder_.add(rank, event);
  }
  void begin(uint32_t rank, uint32_t call, Operation operation, Algorithm algorithm, uint64_t count,
             uint16_t channel = 2) {
    const bool message = operation == Operation::kSend || operation == Operation::kRecv;
    const uint32_t root = message ? 1 - rank : 0;
    add(rank, CallMade{{}, kWorld, call, call, operation, ElementType::kFloat, count, root, 0});
    start(rank, call, operation, algorithm, message ? 1 : channel, message ? 1 : 2);
  }
  void start(uint32_t rank, uint32_t call, Operation operation, Algorithm algorithm,
             uint16_t channel, uint16_t channels) {
    add(rank, CallStarted{
                  {}, kWorld, call, operation, algorithm, channel, channels, kHeading, 128 << 10});
  }
  void got(uint32_t rank, uint16_t channel, uint64_t bytes) {
    add(rank, MessageCompleted{{}, 10 + rank, channel, 1, bytes, Direction::kReceived});
  }
  std::map<std::string, Matrix> parts(MatrixParts by) const {
    std::map<std::string, Matrix> made;
    for (MatrixPart& part : matrix_parts(builder_.finish(), MatrixRows::kRank, by)) {
      made[part.name] = std::move(part.matrix);
    }
    return made;
  }

  TrafficBuilder builder_;
  Nanos now_ = micros(1);
};

TEST_F(TrafficTest, MessagesThroughSharedMemoryHaveNoHeadingAndAPathOfTheirOwn) {
  const auto through_memory = [&](uint32_t rank, uint64_t bytes, Direction direction) {
    add(rank, SharedMessageCompleted{{}, 10 + rank, 2, 1, bytes, direction, false});
  };
  for (uint32_t rank = 0; rank < 2; ++rank) {
    begin(rank, 1, Operation::kAllreduce, Algorithm::kRing, 1000);
    through_memory(rank, 2000, Direction::kSent);
    through_memory(rank, 2000, Direction::kReceived);
    add(rank, CallEnded{{}, kWorld, 1, true});
  }
  const Matrix matrix = parts(MatrixParts::kOperation).at("allreduce");
  EXPECT_EQ(matrix.at(0, 1).bytes, 2000u);
  EXPECT_EQ(matrix.at(1, 0).messages, 1u);
  EXPECT_EQ(parts(MatrixParts::kPath).at("shared memory").at(1, 0).memory_bytes, 2000u);
  EXPECT_EQ(make_matrix(builder_.finish(), MatrixRows::kRank).own.bytes, 0u);
}

TEST_F(TrafficTest, ExpectedBytesFollowNcclsGraphOfAsManyRanks) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    begin(rank, 1, Operation::kAllreduce, Algorithm::kRing, 1000);
    add(rank, CallEnded{{}, kWorld, 1, true});
  }
  topology::NcclGraphs graphs;
  graphs.by_ranks[3] = {3, {{.ring = {0, 1, 2}, .tree = {}}}};
  const auto expected = [&] {
    return make_matrix(builder_.finish(&graphs), MatrixRows::kRank).at(0, 1).expected_bytes;
  };
  EXPECT_EQ(expected(), 4000u);
  graphs.by_ranks[2] = {2, {{.ring = {0, 1}, .tree = {}}, {.ring = {1, 0}, .tree = {}}}};
  EXPECT_EQ(expected(), 4000u);
  EXPECT_EQ(builder_.finish(&graphs).calls_without_formula, 0u);
  // Without rings the bytes of a ring's call are unknown.
  graphs.by_ranks[2] = {2, {{.ring = {}, .tree = {{{}, {1}}, {0, {}}}}}};
  EXPECT_EQ(expected(), 0u);
  EXPECT_EQ(builder_.finish(&graphs).calls_without_formula, 2u);
}

TEST_F(TrafficTest, ARingDeliversTheBytesOfItsFormula) {
  for (uint32_t rank = 0; rank < 2; ++rank) {
    begin(rank, 1, Operation::kAllreduce, Algorithm::kRing, 1000);
    got(rank, 2, kHeading);
    got(rank, 2, 2000);
    got(rank, 2, 2000);
    add(rank, CallEnded{{}, kWorld, 1, true});
  }
  const Matrix matrix = parts(MatrixParts::kOperation).at("allreduce");
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    EXPECT_EQ(matrix.at(from, to).bytes, 4000u);
    EXPECT_EQ(matrix.at(from, to).expected_bytes, 4000u);
    EXPECT_EQ(matrix.at(from, to).messages, 2u);
  }
  const Matrix all = make_matrix(builder_.finish(), MatrixRows::kRank);
  EXPECT_EQ(all.total().bytes, 8000u);
  EXPECT_EQ(all.own.bytes, 2u * kHeading);
  EXPECT_EQ(parts(MatrixParts::kOperation).at("heddle's own").at(0, 1).bytes, kHeading);
}

TEST_F(TrafficTest, ConcurrentCallsAreDistinguishedByTheirChannels) {
  begin(0, 1, Operation::kAllreduce, Algorithm::kRing, 10, 2);
  begin(0, 2, Operation::kBroadcast, Algorithm::kBinomial, 10, 4);
  got(0, 4, kHeading + 7);
  got(0, 2, kHeading + 5);
  got(0, 3, kHeading + 3);  // the first call's second channel
  got(0, 4, 1);
  add(0, CallEnded{{}, kWorld, 1, true});
  begin(0, 3, Operation::kReduce, Algorithm::kTree, 10, 2);
  got(0, 2, kHeading + 9);
  const auto by_operation = parts(MatrixParts::kOperation);
  EXPECT_EQ(by_operation.at("allreduce").at(1, 0).bytes, 8u);
  EXPECT_EQ(by_operation.at("broadcast").at(1, 0).bytes, 8u);
  EXPECT_EQ(by_operation.at("reduce").at(1, 0).bytes, 9u);
  const auto by_algorithm = parts(MatrixParts::kAlgorithm);
  EXPECT_EQ(by_algorithm.at("tree").at(1, 0).bytes, 9u);
  EXPECT_EQ(parts(MatrixParts::kCommunicator).at("0000000000000009").total().bytes, 25u);
}

TEST_F(TrafficTest, SendsAndReceivesCompleteInOrder) {
  begin(0, 1, Operation::kRecv, Algorithm::kLinear, 5);  // 20 bytes
  begin(0, 2, Operation::kRecv, Algorithm::kLinear, 0);
  begin(0, 3, Operation::kRecv, Algorithm::kLinear, 50'000);  // a heading, then two messages
  got(0, 1, kHeading + 20);
  got(0, 1, kHeading);
  got(0, 1, kHeading);
  got(0, 1, 150'000);
  got(0, 1, 50'000);
  const auto by_operation = parts(MatrixParts::kOperation);
  EXPECT_EQ(by_operation.at("send").at(1, 0).bytes, 200'020u);
  EXPECT_EQ(by_operation.at("send").at(1, 0).messages, 3u);
  EXPECT_EQ(by_operation.at("heddle's own").at(1, 0).bytes, 3u * kHeading);
  got(0, 1, 77);  // belongs to no known call
  EXPECT_EQ(parts(MatrixParts::kOperation).at("heddle's own").at(1, 0).bytes, 3u * kHeading + 77);
}

// Messages are recorded with the time at which they arrived, which may precede that of the link.
TEST_F(TrafficTest, AMessageBeforeItsLinkEventBelongsToItsCall) {
  begin(0, 1, Operation::kAllgather, Algorithm::kRing, 10, 4);
  add(0, ConnectionOpened{{}, 50, 51, 0, 0xffff0a000009, 18700, 8});
  add(0, MessageCompleted{{}, 50, 4, 1, kHeading, Direction::kReceived});
  add(0, CommunicatorLinked{{}, kWorld, 1, 50});
  add(0, MessageCompleted{{}, 50, 4, 2, 40, Direction::kReceived});
  const auto by_operation = parts(MatrixParts::kOperation);
  EXPECT_EQ(by_operation.at("allgather").total().bytes, 40u);
  EXPECT_EQ(by_operation.at("heddle's own").total().bytes, kHeading);
  EXPECT_EQ(by_operation.find("messages"), by_operation.end());
}

TEST_F(TrafficTest, APhaseCoversTheCallsMadeInIt) {
  add(0, Mark{{}, events::Text("forward"), 1});
  begin(0, 1, Operation::kAllgather, Algorithm::kRing, 1, 2);
  add(0, Mark{{}, events::Text("backward"), 1});
  begin(0, 2, Operation::kAllreduce, Algorithm::kRing, 1, 4);
  got(0, 2, kHeading + 4);
  got(0, 4, kHeading + 2);
  const auto by_phase = parts(MatrixParts::kPhase);
  EXPECT_EQ(by_phase.at("forward").at(1, 0).bytes, 4u);
  EXPECT_EQ(by_phase.at("backward").at(1, 0).bytes, 2u);
}

TEST_F(TrafficTest, TuningMessagesAreNotPayload) {
  start(0, 0, Operation::kBroadcast, Algorithm::kBinomial, 2, 2);
  got(0, 2, kHeading + 28);
  got(0, 0, 16);  // and so are messages outside calls
  const Matrix matrix = make_matrix(builder_.finish(), MatrixRows::kRank);
  EXPECT_TRUE(matrix.cells.empty());
  EXPECT_EQ(matrix.own.bytes, kHeading + 28u + 16u);
}

TEST_F(TrafficTest, TimeRunsFromTheCallToTheLastArrival) {
  now_ = micros(10);
  begin(0, 1, Operation::kAllreduce, Algorithm::kRing, 10);
  const Nanos started = now_;
  now_ = micros(50);
  got(0, 2, kHeading + 1);
  now_ = micros(90);
  got(0, 2, 1);
  EXPECT_EQ(make_matrix(builder_.finish(), MatrixRows::kRank).at(1, 0).nanos,
            static_cast<uint64_t>((now_ - started).count));
}

TEST_F(TrafficTest, NicsAreIdentifiedByTheAddressesThatPeersSee) {
  begin(0, 1, Operation::kAllreduce, Algorithm::kRing, 10);
  got(0, 2, kHeading + 40);
  const Matrix matrix = make_matrix(builder_.finish(), MatrixRows::kNic);
  std::map<std::string, uint32_t> nics;
  for (uint32_t i = 0; i < matrix.parties.size(); ++i) nics[matrix.parties[i].name] = i;
  EXPECT_EQ(matrix.at(nics.at("10.0.0.2"), nics.at("10.0.0.1")).bytes, 40u);
  EXPECT_EQ(matrix.parties[nics.at("10.0.0.2")].host, "h1");
}

TEST_F(TrafficTest, BurstsYieldTheBytesSentOnEachPath) {
  add(0, events::BurstSent{{}, 10, 3, 1, 4, 4000, false});
  add(0, events::BurstSent{{}, 10, 5, 1, 1, 1000, false});
  add(0, events::BurstSent{{}, 10, 3, 5, 2, 2000, true});
  const auto by_path = parts(MatrixParts::kPath);
  EXPECT_EQ(by_path.at("path 3").at(0, 1).sent_bytes, 6000u);
  EXPECT_EQ(by_path.at("path 3").at(0, 1).packets, 6u);
  EXPECT_EQ(by_path.at("path 5").at(0, 1).sent_bytes, 1000u);
  EXPECT_EQ(make_matrix(builder_.finish(), MatrixRows::kRank).at(0, 1).sent_bytes, 7000u);
}

TEST_F(TrafficTest, BytesOnTheWireBelongToTheOnlyOperationInProgress) {
  const auto bin = [this](int64_t end_us, uint32_t bytes) {
    now_ = micros(end_us);
    add(0, events::WireBin{
               {}, 10, 3, 0, 0, Direction::kSent, micros(100), 100'000, 1, bytes, bytes / 2});
  };
  const auto end = [this](uint32_t call) { add(0, CallEnded{{}, kWorld, call, true}); };
  now_ = micros(1'000);
  begin(0, 1, Operation::kAllreduce, Algorithm::kRing, 10);
  bin(1'150, 1);
  end(1);
  bin(1'200, 10);
  bin(1'900, 100);  // acknowledgements after it
  begin(0, 2, Operation::kBroadcast, Algorithm::kBinomial, 10);
  bin(1'950, 1'000);
  begin(0, 3, Operation::kAllreduce, Algorithm::kRing, 10);
  bin(2'100, 10'000);  // two operations at once
  end(2);
  bin(2'400, 100'000);
  const auto by_operation = parts(MatrixParts::kOperation);
  EXPECT_EQ(by_operation.at("allreduce").total().wire_bytes, 100'011u);
  EXPECT_EQ(by_operation.at("broadcast").total().wire_bytes, 1'000u);
  EXPECT_EQ(by_operation.at("several at once, or none").total().wire_bytes, 10'100u);
  EXPECT_EQ(parts(MatrixParts::kAlgorithm).at("binomial").total().wire_bytes, 1'000u);
  EXPECT_EQ(parts(MatrixParts::kPath).at("path 3").total().wire_bytes, 111'111u);
}

// Damaged recordings contain such times.
TEST_F(TrafficTest, BinsWithArbitraryTimesAreCounted) {
  for (const int64_t time : {INT64_MIN, int64_t{0}, INT64_MAX}) {
    for (const int64_t ago : {INT64_MIN, INT64_MAX}) {
      now_ = nanos(time);
      builder_.add(
          0, events::WireBin{now_, 10, 3, 0, 0, Direction::kSent, nanos(ago), UINT32_MAX, 1, 7, 0});
    }
    builder_.add(0, events::BurstSent{nanos(time), 10, 3, 1, 4, 4000, false});
  }
  EXPECT_EQ(make_matrix(builder_.finish(), MatrixRows::kRank).at(0, 1).wire_bytes, 42u);
}

TEST_F(TrafficTest, BinsYieldTheBytesOnTheWireBetweenNics) {
  add(0, events::NicOpened{{}, 0, 0, 0xffff0a000101, events::Text("eth0"), 0});
  add(0, events::NicOpened{{}, 1, 0, 0xffff0a000102, events::Text("eth1"), 0});
  add(0, events::BurstSent{{}, 10, 3, 1, 4, 4000, false});  // bins include these bytes
  const auto bin = [](uint16_t path, uint8_t nic, Direction direction, uint32_t bytes) {
    return events::WireBin{{}, 10, path, nic, 0, direction, micros(100), 100'000, 2, bytes, 50};
  };
  add(0, bin(3, 0, Direction::kSent, 200));
  add(0, bin(4, 1, Direction::kSent, 300));
  add(0, bin(3, 0, Direction::kSent, 1000));
  add(0, bin(UINT16_MAX, 0, Direction::kReceived, 9000));  // the other side records these bytes
  events::WireBin stray = bin(0, 0, Direction::kSent, 70);
  stray.connection = 0;
  add(0, stray);
  const Traffic traffic = builder_.finish();
  EXPECT_FALSE(traffic.has_messages);
  EXPECT_EQ(traffic.unplaced.wire_bytes, 70u);
  const Cell all = make_matrix(traffic, MatrixRows::kRank).at(0, 1);
  EXPECT_EQ(all.wire_bytes, 1500u);
  EXPECT_EQ(all.packets, 6u);
  EXPECT_EQ(all.sent_bytes, 150u);
  EXPECT_EQ(parts(MatrixParts::kPath).at("path 3").at(0, 1).wire_bytes, 1200u);
  const Matrix nics = make_matrix(traffic, MatrixRows::kNic);
  std::map<std::string, uint64_t> left;
  for (const auto& [pair, cell] : nics.cells)
    left[nics.parties[pair.first].name] += cell.wire_bytes;
  EXPECT_EQ(left.at("10.0.1.1"), 1200u);
  EXPECT_EQ(left.at("10.0.1.2"), 300u);
}

TEST_F(TrafficTest, BytesSentOnATracedPathHaveItsRouters) {
  const auto bin = [](uint16_t path, uint32_t bytes) {
    return events::WireBin{{}, 10, path, 0, 0, Direction::kSent, micros(9), 9'000, 1, bytes, 0};
  };
  const auto traced = [&](uint16_t path, uint8_t hop, uint64_t router) {
    add(0, events::PathTraced{{}, 10, path, hop, 2, 0, router});
  };
  add(0, bin(3, 1));  // before the first trace: counted on the first route found
  traced(3, 1, 70);
  traced(3, 2, 80);
  traced(4, 2, 80);  // its first hop is missing
  add(0, bin(3, 10));
  add(0, bin(4, 100));
  traced(3, 1, 70);
  traced(3, 2, 81);
  add(0, bin(3, 1000));
  const Traffic traffic = builder_.finish();
  std::map<std::vector<Router>, uint64_t> bytes;
  for (const Flow& flow : traffic.flows) {
    if (flow.cell.wire_bytes == 0) continue;
    bytes[flow.route == kNoRoute ? std::vector<Router>() : traffic.routes[flow.route]] +=
        flow.cell.wire_bytes;
  }
  const std::map<std::vector<Router>, uint64_t> expected = {
      {{}, 100}, {{{0, 70}, {0, 80}}, 11}, {{{0, 70}, {0, 81}}, 1000}};
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(parts(MatrixParts::kPath).at("path 3").total().wire_bytes, 1011u);
}

TEST_F(TrafficTest, AllToAllVHasNoExpectedBytes) {
  begin(0, 1, Operation::kAlltoallv, Algorithm::kPairwise, 10);
  const Traffic traffic = builder_.finish();
  EXPECT_EQ(traffic.calls, 1u);
  EXPECT_EQ(traffic.calls_without_formula, 1u);
}

TEST(TrafficOfDamage, EventsWithoutTheirBeginningAreAccepted) {
  TrafficBuilder builder;
  const uint32_t process = builder.add_process({{"host", "h"}, {"pid", "1"}});
  builder.add(process, CommunicatorLinked{{}, kWorld, 3, 10});
  builder.add(
      process,
      CallStarted{{}, kWorld, 7, Operation::kAllreduce, Algorithm::kRing, 2, 2, kHeading, 1});
  builder.add(process, CallEnded{{}, kWorld, 8, true});
  builder.add(process, MessageCompleted{{INT64_MAX}, 10, 2, 1, 5, Direction::kReceived});
  builder.add(process, MessageCompleted{{INT64_MIN}, 10, 2, 1, 5, Direction::kReceived});
  builder.add(
      process,
      CallMade{
          {}, 0, 1, 1, static_cast<Operation>(99), static_cast<ElementType>(99), UINT64_MAX, 5, 0});
  builder.add(process, CallStarted{{},
                                   0,
                                   1,
                                   static_cast<Operation>(99),
                                   static_cast<Algorithm>(99),
                                   65'535,
                                   65'535,
                                   kHeading,
                                   0});
  const Traffic traffic = builder.finish();
  EXPECT_EQ(traffic.unplaced.bytes, 10u);
  EXPECT_EQ(traffic.calls_without_formula, 1u);
}

}  // namespace
}  // namespace heddle::insight
