// Traffic between senders and receivers, from synthetic events recorded by both sides or by one.
#include "insight/matrix.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

using events::ConnectionOpened;
using events::Direction;
using events::MessageCompleted;

constexpr uint64_t kV4 = 0xffff0a000001;  // ::ffff:10.0.0.1

uint32_t process(TrafficBuilder& builder, const std::string& host, const std::string& rank) {
  return builder.add_process({{"host", host}, {"pid", "7"}, {"rank", rank}});
}

void open(TrafficBuilder& builder, uint32_t process, uint32_t own, uint32_t peer) {
  builder.add(process, ConnectionOpened{nanos(1), own, peer, 0, kV4, 18700, 8});
}

void move(TrafficBuilder& builder, uint32_t process, uint32_t connection, uint64_t bytes,
          Direction direction) {
  builder.add(process, MessageCompleted{nanos(2), connection, 0, 1, bytes, direction});
}

Matrix matrix_of(const TrafficBuilder& builder) {
  return make_matrix(builder.finish(), MatrixRows::kRank);
}

TEST(Matrix, DeliveredBytesAreCountedOnceAndByDirection) {
  TrafficBuilder builder;
  const uint32_t b = process(builder, "h1", "1");
  const uint32_t a = process(builder, "h0", "0");
  open(builder, a, 11, 22);
  open(builder, b, 22, 11);
  for (const uint64_t bytes : {100, 200}) {
    move(builder, a, 11, bytes, Direction::kSent);
    move(builder, b, 22, bytes, Direction::kReceived);
  }
  move(builder, b, 22, 5, Direction::kSent);
  move(builder, a, 11, 5, Direction::kReceived);
  const Matrix matrix = matrix_of(builder);
  ASSERT_EQ(matrix.parties.size(), 2u);
  EXPECT_EQ(matrix.parties[0].name, "0");
  EXPECT_EQ(matrix.at(0, 1).bytes, 300u);
  EXPECT_EQ(matrix.at(0, 1).messages, 2u);
  EXPECT_EQ(matrix.at(1, 0).bytes, 5u);
  EXPECT_EQ(matrix.at(0, 0).messages, 0u);
  EXPECT_EQ(matrix.total().bytes, 305u);
}

TEST(Matrix, BytesThatDidNotArriveAreNotDelivered) {
  TrafficBuilder builder;
  const uint32_t a = process(builder, "h0", "0");
  const uint32_t b = process(builder, "h1", "1");
  open(builder, a, 11, 22);
  open(builder, b, 22, 11);
  move(builder, a, 11, 100, Direction::kSent);
  EXPECT_EQ(matrix_of(builder).total().messages, 0u);
}

TEST(Matrix, AnUnrecordedPeerIsIdentifiedByItsAddress) {
  TrafficBuilder builder;
  const uint32_t a = process(builder, "h0", "");
  open(builder, a, 11, 22);
  move(builder, a, 11, 100, Direction::kSent);
  move(builder, a, 11, 7, Direction::kReceived);
  const Matrix matrix = matrix_of(builder);
  ASSERT_EQ(matrix.parties.size(), 2u);
  EXPECT_EQ(matrix.parties[0].name, "10.0.0.1:18700");
  EXPECT_FALSE(matrix.parties[0].recorded);
  EXPECT_EQ(matrix.parties[1].name, "h0:7");
  EXPECT_EQ(matrix.at(1, 0).bytes, 100u);
  EXPECT_EQ(matrix.at(0, 1).bytes, 7u);
}

TEST(Matrix, MessagesOfAConnectionWithoutItsOpeningAreUnplaced) {
  TrafficBuilder builder;
  const uint32_t a = process(builder, "h0", "0");
  move(builder, a, 11, 100, Direction::kSent);
  const Matrix matrix = matrix_of(builder);
  EXPECT_TRUE(matrix.cells.empty());
  EXPECT_EQ(matrix.unplaced.bytes, 100u);
}

TEST(Matrix, RanksAreSortedByNumber) {
  TrafficBuilder builder;
  for (const char* rank : {"10", "9", "x", "2"}) process(builder, "h", rank);
  const Matrix matrix = matrix_of(builder);
  std::vector<std::string> names;
  for (const Party& party : matrix.parties) names.push_back(party.name);
  EXPECT_EQ(names, (std::vector<std::string>{"2", "9", "10", "h:7"}));
}

TEST(Matrix, AHostsRowIsTheSumOfItsProcesses) {
  TrafficBuilder builder;
  const uint32_t a = process(builder, "h0", "0");
  const uint32_t b = process(builder, "h0", "1");
  const uint32_t c = process(builder, "h1", "2");
  uint32_t id = 10;
  for (const uint32_t from : {a, b}) {
    open(builder, from, id, id + 1);
    open(builder, c, id + 1, id);
    move(builder, c, id + 1, 50, Direction::kReceived);
    move(builder, from, id, 8, Direction::kReceived);
    id += 2;
  }
  const Matrix hosts = make_matrix(builder.finish(), MatrixRows::kHost);
  ASSERT_EQ(hosts.parties.size(), 2u);
  EXPECT_EQ(hosts.at(0, 1).bytes, 100u);
  EXPECT_EQ(hosts.at(1, 0).bytes, 16u);
}

}  // namespace
}  // namespace heddle::insight
