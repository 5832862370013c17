// Endpoints with cluster keys: messages arrive; who lacks the key gets no answer and changes
// nothing; what is forged, changed, sent back or sent again is dropped and counted.
#include "events/events.h"
#include "transport/testing/pair_fixture.h"

namespace heddle::transport::testing {
namespace {

using events::DropReason;

ClusterKey key_of(uint8_t seed) {
  ClusterKey key;
  key.secret.fill(std::byte{seed});
  return key;
}

class KeyedTest : public PairFixture {
 protected:
  static PairOptions keyed(std::vector<ClusterKey> keys = {key_of(1)}) {
    PairOptions options;
    options.endpoint.keys = std::move(keys);
    return options;
  }
  // Of both sides: what each accepts or connects with.
  static PairOptions keyed_apart(std::vector<ClusterKey> left, std::vector<ClusterKey> right) {
    PairOptions options;
    options.adjust = [left, right](int side, EndpointOptions& endpoint) {
      endpoint.keys = side == 0 ? left : right;
    };
    return options;
  }
  uint64_t dropped(int side, DropReason reason) {
    return end(side).statistics().drops_by_reason[static_cast<size_t>(reason)];
  }
  void expect_moved(uint64_t bytes) {
    receive(0, bytes, 2);
    send(0, bytes, 1);
    ASSERT_TRUE(run_until_completed(1, 1));
    EXPECT_TRUE(ended(0)[0].ok);
    EXPECT_TRUE(ended(1)[0].ok);
    EXPECT_EQ(std::memcmp(pair_->region(0, memory_[0]).data(), pair_->region(1, memory_[1]).data(),
                          bytes),
              0);
  }
  void expect_no_connection() {
    connect();
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) > 0; }, seconds(10)));
    EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
    EXPECT_EQ(notice(0).error.code, ErrorCode::kTimeout);
    EXPECT_EQ(seen(1), 0U);
    EXPECT_EQ(end(1).connections(), 0U);
  }
};

TEST_F(KeyedTest, MessagesOfEverySizeArrive) {
  start(keyed());
  uint64_t at = 0;
  OperationId operation = 0;
  for (const uint64_t bytes : {0, 1, 400, 1'143, 1'144, 1'145, 5'000, 100'000, 3'000'000}) {
    receive(at, bytes, operation);
    send(at, bytes, operation++);
    at += bytes;
  }
  ASSERT_TRUE(run_until_completed(operation, operation));
  EXPECT_EQ(
      std::memcmp(pair_->region(0, memory_[0]).data(), pair_->region(1, memory_[1]).data(), at), 0);
  EXPECT_EQ(end(0).statistics().datagrams_dropped, 0U);
  EXPECT_EQ(end(1).statistics().datagrams_dropped, 0U);
}

TEST_F(KeyedTest, PayloadAndFramesAreUnreadable) {
  PairOptions options = keyed();
  std::vector<std::byte> seen_bytes;
  options.tamper = [&](int, std::span<std::byte> frame) {
    seen_bytes.insert(seen_bytes.end(), frame.begin(), frame.end());
  };
  start(options);
  std::fill_n(pair_->region(0, memory_[0]).begin(), 20'000, std::byte{0x5a});
  expect_moved(20'000);
  const std::vector<std::byte> clear(16, std::byte{0x5a});
  EXPECT_EQ(std::search(seen_bytes.begin(), seen_bytes.end(), clear.begin(), clear.end()),
            seen_bytes.end());
}

TEST_F(KeyedTest, LossReorderingAndDuplicationAreSurvived) {
  PairOptions options = keyed();
  options.loss_per_million = 20'000;
  options.late_per_million = 20'000;
  options.twice_per_million = 20'000;
  options.endpoint.packets_a_key = 300;  // many keys one after another
  start(options);
  expect_moved(8'000'000);
  EXPECT_GT(dropped(1, DropReason::kDuplicate), 0U);
}

TEST_F(KeyedTest, AnotherKeyGetsNoAnswerAndIsCounted) {
  make(keyed_apart({key_of(1)}, {key_of(2)}));
  expect_no_connection();
  EXPECT_GT(dropped(1, DropReason::kNoKey), 0U);
  EXPECT_EQ(end(0).statistics().datagrams_received, 0U);
}

TEST_F(KeyedTest, WhoHasNoKeyGetsNoAnswer) {
  make(keyed_apart({}, {key_of(1)}));
  expect_no_connection();
  EXPECT_GT(dropped(1, DropReason::kNoKey), 0U);
  EXPECT_EQ(end(0).statistics().datagrams_received, 0U);
}

TEST_F(KeyedTest, APeerWithoutKeysIsNotTalkedToAndTheErrorSaysWhatItSaid) {
  make(keyed_apart({key_of(1)}, {}));
  expect_no_connection();
  EXPECT_NE(notice(0).error.why.find("the peer has no cluster keys"), std::string::npos);
  EXPECT_GT(dropped(0, DropReason::kBadSeal), 0U);
}

TEST_F(KeyedTest, EveryKeyOfTheRingIsAccepted) {
  start(keyed_apart({key_of(2), key_of(1)}, {key_of(1), key_of(2)}));
  expect_moved(100'000);
}

}  // namespace
}  // namespace heddle::transport::testing
