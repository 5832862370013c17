// What holds for links of every kind: messages of all sizes arrive whole and in order, channels do
// not wait for each other, signatures travel with first messages, lengths must agree.
#include "collectives/execution/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "collectives/testing/link_pair.h"
#include "collectives/testing/local_ranks.h"

namespace heddle::collectives {
namespace {

using engine::pattern;

constexpr Signature kCall = {.number = 7, .count = 3, .root = 1};
// The last ones are where shared memory takes another way.
constexpr uint64_t kSizes[] = {0,
                               1,
                               64,
                               8168,
                               8169,
                               8192,
                               8193,
                               16'384,
                               16'385,
                               kSmallBytes,
                               kSmallBytes + 1,
                               300'001,
                               SharedLink::kLongFrom,
                               SharedLink::kLongFrom + 1,
                               SharedLink::kPullFrom,
                               SharedLink::kPullFrom + 1,
                               kLong};

class LinkContract : public OverAll {
 protected:
  LinkPair pair_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Ways, LinkContract, kAllRoutes,
                         [](const auto& each) { return way_name(each.param); });

TEST_P(LinkContract, MessagesOfEverySizeArriveWhole) {
  uint32_t seed = 0;
  for (const uint64_t size : kSizes) {
    const int side = static_cast<int>(size % 2);
    auto receive = pair_.receiving(1 - side, 3, size, false);
    auto send = pair_.sending(side, 3, pattern(size, ++seed));
    pair_.finish(side, *send, *receive);
    ASSERT_TRUE(send->done && receive->done) << size;
    EXPECT_TRUE(receive->bytes == send->bytes) << size;
  }
}

TEST_P(LinkContract, StoredMessagesAreTakenInPieces) {
  for (const bool aside : {false, true}) {
    for (const bool signs : {false, true}) {
      for (const uint64_t size : kSizes) {
        if (signs && size > kSmallBytes) continue;
        auto receive = pair_.receiving(1, 2, size, true, signs);
        auto send =
            pair_.sending(0, 2, pattern(size, 5), signs ? std::optional(kCall) : std::nullopt);
        pair_.finish(0, *send, *receive, 1000, aside);
        ASSERT_TRUE(send->done && receive->done) << size;
        EXPECT_TRUE(receive->combined == send->bytes) << size << (aside ? " aside" : "");
      }
    }
  }
  pair_.settle();
  EXPECT_EQ(pair_.small(0).lent() + pair_.small(1).lent(), 0U);
}

TEST_P(LinkContract, ASignatureComesBeforeTheFirstPiece) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{100}, uint64_t{100'000}, kLong}) {
    auto receive = pair_.receiving(1, 2, size, false, true);
    auto send = pair_.sending(0, 2, pattern(size, 1), kCall);
    pair_.finish(0, *send, *receive);
    ASSERT_TRUE(receive->done);
    EXPECT_TRUE(receive->message.signature_came);
    EXPECT_EQ(receive->message.signature, kCall);
    EXPECT_TRUE((receive->message.stored ? receive->combined : receive->bytes) == send->bytes);
  }
}

TEST_P(LinkContract, ASignatureCanBeLookedAtAlone) {
  for (const uint64_t size : {uint64_t{200'000}, kLong}) {
    auto receive = pair_.receiving(1, 2, size, false, true);
    EXPECT_FALSE(pair_.link(1).look_at_signature(receive->message));
    auto send = pair_.sending(0, 2, pattern(size, 1), kCall);
    while (!pair_.link(1).look_at_signature(receive->message)) {
      pair_.look(0, *send);
      pair_.drive();
    }
    EXPECT_EQ(receive->message.signature, kCall);
    pair_.finish(0, *send, *receive);
    EXPECT_TRUE(receive->bytes == send->bytes);
  }
}

// Links whose signatures travel with the message have nothing to announce.
TEST_P(LinkContract, AnAnnouncedSignatureComesBeforeItsMessageIsPosted) {
  auto receive = pair_.receiving(1, 2, 100'000, false, true);
  auto send = pair_.to_send(0, 2, pattern(100'000, 1), kCall);
  ASSERT_TRUE(pair_.link(0).announce(send->message));
  ASSERT_EQ(send->message.announced, GetParam() == SharedMemory::kNever);
  EXPECT_FALSE(send->message.posted || send->message.touched);
  const Nanos give_up = pair_.endpoint(0).now() + engine::kTestPatience;
  while (send->message.announced && !pair_.link(1).look_at_signature(receive->message)) {
    ASSERT_LT(pair_.endpoint(0).now(), give_up);
    pair_.drive();
  }
  std::fill(send->bytes.begin(), send->bytes.end(), std::byte{7});  // only now it is known
  ASSERT_TRUE(pair_.link(0).post(send->message));
  pair_.finish(0, *send, *receive);
  ASSERT_TRUE(send->done && receive->done);
  EXPECT_EQ(receive->message.signature, kCall);
  EXPECT_TRUE(receive->bytes == send->bytes);
}

TEST_P(LinkContract, AChannelWithoutAReceiveBlocksNoOther) {
  std::vector<std::unique_ptr<TestMessage>> unmet;
  for (uint32_t i = 0; i < 3; ++i) unmet.push_back(pair_.sending(0, 4, pattern(kLong, i)));
  pair_.look(0, *unmet[0]);
  for (uint32_t i = 0; i < 20; ++i) {
    auto receive = pair_.receiving(1, 5, 20'000, false);
    auto send = pair_.sending(0, 5, pattern(20'000, i));
    pair_.finish(0, *send, *receive);
    ASSERT_TRUE(receive->bytes == send->bytes);
    pair_.look(0, *unmet[0]);
  }
  EXPECT_FALSE(unmet[0]->done) << "nobody has received it";
  for (uint32_t i = 0; i < 3; ++i) {
    auto receive = pair_.receiving(1, 4, kLong, i == 1);
    pair_.finish(0, *unmet[i], *receive);
    ASSERT_TRUE((i == 1 ? receive->combined : receive->bytes) == unmet[i]->bytes);
  }
}

TEST_P(LinkContract, LengthsThatDifferEndTheReceive) {
  struct Lengths {
    uint64_t received;
    uint64_t sent;
  };
  // Each in one ring of cells, in both, or read where it is.
  for (const Lengths& each :
       {Lengths{100, 30'000}, {100, 100'000}, {80'000, 90'000}, {100'000, kLong}}) {
    LinkPair pair(GetParam());
    auto receive = pair.receiving(1, 2, each.received, false, true);
    auto send = pair.sending(0, 2, pattern(each.sent, 1), kCall);
    const Nanos give_up = pair.endpoint(0).now() + engine::kTestPatience;
    while (!receive->failed) {
      ASSERT_LT(pair.endpoint(0).now(), give_up) << each.sent;
      ASSERT_FALSE(receive->done);
      pair.look(0, *send);
      pair.look(1, *receive);
      pair.drive();
    }
  }
}

class CopiedSends : public testing::Test {
 protected:
  std::unique_ptr<TestMessage> copied(uint32_t seed) {
    auto send = pair_.to_send(0, 2, pattern(kBytes, seed));
    send->message.copied = true;
    EXPECT_TRUE(pair_.link(0).post(send->message));
    pair_.look(0, *send);
    return send;
  }
  void expect_received(uint32_t seed) {
    auto receive = pair_.receiving(1, 2, kBytes, false);
    const Nanos give_up = pair_.endpoint(0).now() + engine::kTestPatience;
    while (!receive->done) {
      ASSERT_LT(pair_.endpoint(0).now(), give_up);
      pair_.look(1, *receive);
      pair_.drive();
    }
    EXPECT_TRUE(receive->bytes == pattern(kBytes, seed)) << seed;
  }

  static constexpr uint64_t kBytes = 1000;
  LinkPair pair_{SharedMemory::kNever};
};

TEST_F(CopiedSends, AreOverBeforeAnythingIsAcknowledgedAndTheirMemoryIsFree) {
  pair_.set_cut(true);
  auto send = copied(1);
  EXPECT_TRUE(send->done && send->message.touched);
  std::fill(send->bytes.begin(), send->bytes.end(), std::byte{0});
  EXPECT_EQ(pair_.small(0).lent(), 1U) << "the copy, until it has arrived";
  pair_.set_cut(false);
  expect_received(1);
  pair_.settle();
  EXPECT_EQ(pair_.small(0).lent(), 0U);
}

// Or a rank that runs ahead of the others would take memory without bound.
TEST_F(CopiedSends, WaitWhereTooManyAreOnTheirWay) {
  pair_.set_cut(true);
  std::vector<std::unique_ptr<TestMessage>> sends;
  for (uint32_t i = 0; i < BufferedSends::kMost; ++i) {
    sends.push_back(copied(i));
    ASSERT_TRUE(sends.back()->done) << i;
  }
  sends.push_back(copied(BufferedSends::kMost));
  EXPECT_FALSE(sends.back()->done);
  pair_.set_cut(false);
  for (uint32_t i = 0; i <= BufferedSends::kMost; ++i) expect_received(i);
  const Nanos give_up = pair_.endpoint(0).now() + engine::kTestPatience;
  while (!sends.back()->done) {
    ASSERT_LT(pair_.endpoint(0).now(), give_up);
    pair_.look(0, *sends.back());
    pair_.drive();
  }
  pair_.give_back(0, *sends.back());
  pair_.settle();
  EXPECT_EQ(pair_.small(0).lent(), 0U);
}

}  // namespace
}  // namespace heddle::collectives
