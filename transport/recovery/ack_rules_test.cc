// AckRules: the rows of each table, and their order.
#include "transport/recovery/ack_rules.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

using Burst = AckRules::Burst;
using Request = AckRules::Request;

constexpr Nanos kRoundTrip = millis(1);
constexpr uint32_t kAllFacts = (AckRules::kDeferred << 1) - 1;

TEST(AckRulesReceiverTest, AnUrgentFactEndsTheDelayBesideAllOthers) {
  for (const uint32_t fact :
       {AckRules::kRequested, AckRules::kOvertaken, AckRules::kOutOfOrder, AckRules::kMarked,
        AckRules::kCompletes, AckRules::kManyDeferred, AckRules::kManyBytes}) {
    EXPECT_EQ(AckRules::delay(fact, kRoundTrip), Nanos{});
    EXPECT_EQ(AckRules::delay(kAllFacts, kRoundTrip), Nanos{});
    EXPECT_EQ(AckRules::delay(fact | AckRules::kControl, kRoundTrip), Nanos{});
  }
}

TEST(AckRulesReceiverTest, ControlPacketsWaitLongEvenAfterAGap) {
  EXPECT_EQ(AckRules::delay(AckRules::kControl | AckRules::kAfterGap, kRoundTrip),
            AckRules::kControlDelay);
}

TEST(AckRulesReceiverTest, PayloadAfterAGapWaitsShort) {
  const uint32_t others = AckRules::kWithin | AckRules::kDeferred;
  EXPECT_EQ(AckRules::delay(AckRules::kAfterGap | others, kRoundTrip), AckRules::kDelay);
}

TEST(AckRulesReceiverTest, PayloadBeforeTheEndOfItsMessageWaitsByTheRoundTrip) {
  EXPECT_EQ(AckRules::delay(AckRules::kWithin, kRoundTrip), kRoundTrip / 8);
  EXPECT_EQ(AckRules::delay(AckRules::kWithin | AckRules::kDeferred, kRoundTrip), kRoundTrip / 2);
}

TEST(AckRulesReceiverTest, TheRoundTripCountsWithinBounds) {
  for (const Nanos trip : {Nanos{}, micros(1), micros(100), millis(1), seconds(1)}) {
    const Nanos within = AckRules::delay(AckRules::kWithin, trip);
    const Nanos deferred = AckRules::delay(AckRules::kWithin | AckRules::kDeferred, trip);
    EXPECT_GE(within, AckRules::kDelay);
    EXPECT_GE(deferred, within);
    EXPECT_LE(deferred, AckRules::kLongestDelayWithin);
  }
}

TEST(AckRulesReceiverTest, TheEndOfAMessageWaitsLongOnlyIfItIsDeferred) {
  EXPECT_EQ(AckRules::delay(0, kRoundTrip), AckRules::kDelay);
  EXPECT_EQ(AckRules::delay(AckRules::kDeferred, kRoundTrip), AckRules::kControlDelay);
}

TEST(AckRulesSenderTest, RetransmissionsAndTheEndOfTheWindowRequestOneAtOnce) {
  EXPECT_EQ(AckRules::request_for({.retransmission = true, .deferred = true}), Request::kNow);
  EXPECT_EQ(AckRules::request_for({.window_ends = true, .deferred = true}), Request::kNow);
}

TEST(AckRulesSenderTest, TheEndOfALargeMessageRequestsOneUnlessItIsDeferred) {
  Burst end{.ends_message = true, .large_message = true};
  EXPECT_EQ(AckRules::request_for(end), Request::kNow);
  end.deferred = true;
  EXPECT_EQ(AckRules::request_for(end), Request::kLater);
  EXPECT_EQ(AckRules::request_for({.ends_message = true}), Request::kNone);
}

TEST(AckRulesSenderTest, BytesBeforeTheEndAreDeferredWhereTheEndMayLeaveAndIsAcknowledged) {
  EXPECT_EQ(AckRules::request_for({.large_message = true, .rest_leaves = true}), Request::kLater);
  EXPECT_EQ(AckRules::request_for({.deferred = true, .rest_leaves = true}), Request::kLater);
  EXPECT_EQ(AckRules::request_for({.rest_leaves = true}), Request::kNone);
  EXPECT_EQ(AckRules::request_for({.large_message = true}), Request::kNone);
}

TEST(AckRulesGrantTest, AGrantThatItsMessageNeedsLeavesAtOnce) {
  const Nanos now = seconds(1);
  EXPECT_EQ(AckRules::grant_at(now, {}, Nanos::never()), now);
}

TEST(AckRulesGrantTest, AGrantOfASmallReceiveWaitsForAnAcknowledgement) {
  const Nanos now = seconds(1);
  const Nanos ack_at = now + micros(7);
  EXPECT_EQ(AckRules::grant_at(now, {.small = true}, ack_at), now + AckRules::kControlDelay);
  EXPECT_EQ(AckRules::grant_at(now, {.small = true, .heard = true}, ack_at), ack_at);
  EXPECT_EQ(AckRules::grant_at(now, {.small = true, .heard = true}, Nanos::never()),
            now + AckRules::kDelay);
  EXPECT_EQ(AckRules::grant_at(now, {.small = true, .crowded = true}, ack_at),
            now + AckRules::kDelay);
}

}  // namespace
}  // namespace heddle::transport
