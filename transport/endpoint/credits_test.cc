// Receiver credits over a whole connection: agreeing on them, doing without, and what loss, death
// and withdrawal leave of them.
#include <gtest/gtest.h>

#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/credit_frames.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

class CreditsTest : public testing::PairFixture {
 protected:
  static PairOptions with_credits() {
    PairOptions options;
    options.endpoint.congestion = "credits";
    options.endpoint.receive_capacity = mebibytes(1);
    return options;
  }
  const char* agreed(int side) {
    return end(side).statistics(side == 0 ? client_ : server_)->congestion;
  }
  void send_large(uint64_t bytes = 4 << 20) {
    receive(0, bytes, 1);
    send(0, bytes, 1);
    ASSERT_TRUE(run_until_completed(1, 1));
    EXPECT_TRUE(ended(0)[0].ok);
    EXPECT_TRUE(same(0, bytes));
  }
};

TEST_F(CreditsTest, BothSidesAgreeAndALargeMessageArrives) {
  start(with_credits());
  EXPECT_STREQ(agreed(0), "credits");
  EXPECT_STREQ(agreed(1), "credits");
  send_large();
  EXPECT_EQ(end(0).statistics(client_)->segments_retransmitted, 0u);
}

TEST_F(CreditsTest, TheInitiatorsWishCounts) {
  PairOptions options = with_credits();
  options.adjust = [](int side, EndpointOptions& endpoint) {
    endpoint.congestion = side == 0 ? "credits" : "swift";
  };
  start(options);
  EXPECT_STREQ(agreed(1), "credits");
  options.adjust = [](int side, EndpointOptions& endpoint) {
    endpoint.congestion = side == 1 ? "credits" : "swift";
  };
  start(options);
  EXPECT_STREQ(agreed(1), "swift");
  send_large(1 << 20);
}

// As one that knows no feature bits: it sees another name, and answers without the bit.
TEST_F(CreditsTest, WithAPeerThatGivesNoneTheConnectionFallsBackToCubic) {
  PairOptions options = with_credits();
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 0) return;
    endpoint.chunk_paths = 4;
    endpoint.chunk_bytes = 65536;
  };
  start(options);
  EXPECT_STREQ(agreed(0), "cubic");
  EXPECT_STREQ(agreed(1), "cubic");
  send_large();
}

TEST_F(CreditsTest, BytesInFlightStayWithinTheReceiversCredit) {
  PairOptions options = with_credits();
  options.delay = millis(5);
  options.endpoint.receive_capacity = kibibytes(256);
  start(options);
  send_large();
  EXPECT_LT(pair_->most_on_way[1], 3 * 256 * 1024 / 4 + 10'000);
}

TEST_F(CreditsTest, LossReorderingAndDuplicatesOfAnyPacketStopNothing) {
  PairOptions options = with_credits();
  options.loss_per_million = 50'000;
  options.late_per_million = 50'000;
  options.twice_per_million = 20'000;
  start(options);
  for (OperationId i = 0; i < 30; ++i) {
    receive(i * 200'000, 200'000, i);
    send(i * 200'000, 200'000, i);
  }
  ASSERT_TRUE(run_until_completed(30, 30));
  EXPECT_TRUE(same(0, 6'000'000));
}

// Every packet without a number towards the sender is lost for a while: credit frames among them.
TEST_F(CreditsTest, CreditFramesThatAreLostAreToldAgain) {
  PairOptions options = with_credits();
  bool deaf = false;
  options.drop = [&deaf](int side, const TxBurst&, uint32_t) { return side == 1 && deaf; };
  start(options);
  ASSERT_TRUE(exchange(1000));
  receive(0, 1 << 20, 1);
  send(0, 1 << 20, 1);
  pair_->run_for(micros(30));
  deaf = true;
  pair_->run_for(millis(40));
  EXPECT_EQ(ended(1).size(), 1u);
  deaf = false;
  ASSERT_TRUE(run_until_completed(2, 2, seconds(2)));
  EXPECT_TRUE(same(0, 1 << 20));
}

TEST_F(CreditsTest, AfterAPauseCreditsWorkOn) {
  start(with_credits());
  for (OperationId i = 0; i < 5; ++i) {
    receive(0, 300'000, i);
    send(0, 300'000, i);
    ASSERT_TRUE(run_until_completed(i + 1, i + 1, seconds(1)));
    pair_->run_for(seconds(20));
  }
}

// VOPR, seed 957: payload that was declared lost arrived late, so the receiver considered the whole
// demand as arrived, while the frame with the last credit was lost.
TEST_F(CreditsTest, OneThatGetsNoCreditAsksAgain) {
  PairOptions options = with_credits();
  bool deaf = false;
  options.drop = [&deaf](int side, const TxBurst& burst, uint32_t) {
    return side == 1 && deaf && burst.header_bytes > 0;
  };
  start(options);
  ASSERT_TRUE(exchange(1000));
  receive(0, 1 << 20, 1);
  send(0, 1 << 20, 1);
  for (int i = 0; i < 40 && ended(1).size() < 2; ++i) {  // mostly nothing comes back
    deaf = true;
    pair_->run_for(millis(30));
    deaf = false;
    pair_->run_for(micros(200));
  }
  ASSERT_TRUE(run_until_completed(2, 2, seconds(3)));
  EXPECT_TRUE(same(0, 1 << 20));
}

// VOPR, seed 174058: the receiver had two paths, one of them dead, and an even number of packets to
// send for each demand: each frame with the credit took the dead path.
TEST_F(CreditsTest, CreditThatIsDemandedAgainIsRetransmittedUntilItArrives) {
  PairOptions options = with_credits();
  options.drop = [](int side, const TxBurst& burst, uint32_t) {
    if (side == 0 || burst.header_bytes < kConnectionHeaderBytes + kCreditBytes) return false;
    const ConnectionHeader header = read_connection_header(burst.headers);
    const bool numbered = (header.flags & kFlagNumbered) != 0;
    const std::byte last_frame = burst.headers[burst.header_bytes - kCreditBytes];
    return header.type == PacketType::kControl && !numbered &&
           last_frame == static_cast<std::byte>(FrameType::kCredit);
  };
  start(options);
  receive(0, 1 << 20, 1);
  send(0, 1 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1, seconds(60)));
  EXPECT_TRUE(same(0, 1 << 20));
}

// A message that was asked credit for and then withdrawn holds none of it back from the next.
TEST_F(CreditsTest, AWithdrawnMessageReturnsItsCredit) {
  start(with_credits());
  receive(0, 8 << 20, 1);
  send(0, 8 << 20, 1);
  pair_->run_for(micros(200));
  ASSERT_TRUE(end(0).post_cancel(pair_->now(), client_, 0, Direction::kSend, 1));
  ASSERT_TRUE(run_until_completed(1, 1, seconds(1)));
  receive(0, 2 << 20, 2);
  send(0, 2 << 20, 2);
  ASSERT_TRUE(run_until_completed(2, 2, seconds(1)));
  EXPECT_TRUE(ended(1)[1].ok);
  EXPECT_TRUE(same(0, 2 << 20));
}

TEST_F(CreditsTest, ManySmallMessagesNeedNoDemand) {
  start(with_credits());
  for (OperationId i = 0; i < 2000; ++i) {
    receive(i * 1000, 1000, i);
    send(i * 1000, 1000, i);
  }
  ASSERT_TRUE(run_until_completed(2000, 2000));
  EXPECT_TRUE(same(0, 2'000'000));
}

TEST_F(CreditsTest, APathThatDiesTakesNoCreditAlong) {
  PairOptions options = with_credits();
  bool dead = false;
  options.drop = [&dead](int side, const TxBurst& burst, uint32_t) {
    return dead && side == 0 && burst.path % 2 == 0;
  };
  start(options);
  ASSERT_TRUE(exchange(1000));
  dead = true;
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  ASSERT_TRUE(run_until_completed(2, 2, seconds(5)));
  EXPECT_TRUE(same(0, 4 << 20));
}

}  // namespace
}  // namespace heddle::transport
