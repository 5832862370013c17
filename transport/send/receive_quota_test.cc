// A quota between a sender that always has more and a receiver that drains its socket at some rate
// and with pauses, over a road that only delays.
#include "transport/send/receive_quota.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>

namespace heddle::transport {
namespace {

constexpr uint64_t kSegment = 1500;
constexpr uint64_t kDebian = 106'496;

struct Road {
  Nanos trip = millis(3);
  uint64_t capacity = kDebian;
  double link = 12.5;   // bytes a nanosecond, as all rates
  double drain = 12.5;  // of the receiver while it reads
  Nanos looks_every = micros(10);
};

struct Ran {
  double rate = 0;  // over the last tenth
  uint64_t waited_most = 0;
  uint64_t in_flight_most = 0;
};

// Acknowledgements leave each time the receiver has read. Every step is a microsecond.
Ran run(const Road& road, Nanos length) {
  struct Batch {
    Nanos arrives;
    Nanos sent_at;
    uint64_t bytes;
  };
  ReceiveQuota quota;
  quota.set_capacity(road.capacity);
  std::deque<Batch> forward;
  std::deque<Batch> socket;
  std::deque<Batch> back;
  Ran ran;
  uint64_t held = 0;
  uint64_t late_bytes = 0;
  uint64_t waits = 0;
  const Nanos begin = seconds(1);
  for (Nanos now = begin; now < begin + length; now += micros(1)) {
    while (!forward.empty() && forward.front().arrives <= now) {
      waits += forward.front().bytes;
      socket.push_back(forward.front());
      forward.pop_front();
    }
    ran.waited_most = std::max(ran.waited_most, waits);
    if ((now - begin).count % road.looks_every.count == 0) {
      double can = road.drain * static_cast<double>(road.looks_every.count);
      while (!socket.empty() && can > 0) {
        can -= static_cast<double>(socket.front().bytes);
        waits -= socket.front().bytes;
        back.push_back({now + road.trip / 2, socket.front().sent_at, socket.front().bytes});
        socket.pop_front();
      }
    }
    while (!back.empty() && back.front().arrives <= now) {
      held -= back.front().bytes;
      if (now > begin + length / 10 * 9) late_bytes += back.front().bytes;
      quota.on_acked(now, back.front().sent_at, back.front().bytes, road.trip);
      back.pop_front();
    }
    auto may = static_cast<uint64_t>(road.link * 1000);
    uint64_t left = quota.left(now, held);
    if (left < may) quota.note_short();
    while (left >= kSegment && may >= kSegment) {
      forward.push_back({now + road.trip / 2, now, kSegment});
      held += kSegment;
      quota.on_sent(now, kSegment);
      may -= kSegment;
      left = quota.left(now, held);
    }
    ran.in_flight_most = std::max(ran.in_flight_most, held);
  }
  ran.rate = static_cast<double>(late_bytes) / static_cast<double>((length / 10).count);
  return ran;
}

// As it was before roads counted: nothing is lost at any pause of the receiver.
TEST(ReceiveQuotaTest, WithinTheServiceIntervalNoMoreIsUnderWayThanTheSocketHolds) {
  for (const Nanos trip : {micros(20), micros(100), ReceiveQuota::kServiceInterval}) {
    const Ran ran = run({.trip = trip, .drain = 0.5, .looks_every = millis(5)}, millis(50));
    EXPECT_LE(ran.in_flight_most, kDebian);
    EXPECT_LE(ran.waited_most, kDebian);
  }
}

// Once only a quarter of the socket's buffer was in flight: 0.28 Gb/s over 3 ms.
TEST(ReceiveQuotaTest, OnALongRoadTheSocketOverTheServiceIntervalIsTheRate) {
  for (const Nanos trip : {millis(1), millis(3), millis(10)}) {
    const Ran ran = run({.trip = trip}, 100 * trip);
    const double most =
        static_cast<double>(kDebian) / static_cast<double>(ReceiveQuota::kServiceInterval.count);
    EXPECT_GE(ran.rate, 0.95 * most) << trip.count;
    EXPECT_LE(ran.rate, 1.01 * most) << trip.count;
    EXPECT_LE(ran.waited_most, kDebian);
  }
}

TEST(ReceiveQuotaTest, ArrivalsBetweenTwoReadsFitIntoTheSocket) {
  for (const Nanos looks : {micros(50), micros(100), micros(200)}) {
    const Ran ran = run({.looks_every = looks}, millis(300));
    EXPECT_GE(ran.rate, 0.2) << "bytes a nanosecond; 0.035 with the socket alone";
    EXPECT_LE(ran.waited_most, 2 * kDebian) << "a kernel's buffer is four times the capacity";
  }
}

// Offered half as much again until no more is taken: what is too much for once finds room.
TEST(ReceiveQuotaTest, AReceiverThatReadsSlowlyIsOfferedWhatItTakes) {
  const Ran ran = run({.drain = 0.1}, millis(600));
  EXPECT_GE(ran.rate, 0.099);
  EXPECT_LE(ran.waited_most, 3 * kDebian) << "a kernel's buffer is four times the capacity";
}

TEST(ReceiveQuotaTest, AHundredGigabitsOver1000KmAreReachedInThirtyRoundTrips) {
  const Ran ran = run({.trip = millis(10), .capacity = 4u << 20}, millis(300));
  EXPECT_GE(ran.rate, 0.95 * 12);  // the model's link passes 8 segments a microsecond
  EXPECT_LE(ran.in_flight_most, 130u << 20);
}

// What a peer says is no reason to overflow.
TEST(ReceiveQuotaTest, CapacitiesOfAPeerHaveNoSizeThatWraps) {
  ReceiveQuota quota;
  quota.set_capacity(UINT64_MAX);
  for (int i = 1; i < 20; ++i) {
    quota.on_acked(i * millis(3), (i - 1) * millis(3), 50'000'000, millis(3));
    quota.on_sent(i * millis(3), 50'000'000);
    EXPECT_GE(quota.most(), quota.capacity());
    EXPECT_GE(quota.left(i * millis(3), 50'000'000), 50'000'000u);
  }
  quota.set_capacity(0);
  EXPECT_LE(quota.left(millis(100), 60'000'000), quota.most());
}

// A share of a socket may be smaller than a datagram: "now" made the sender turn for nothing.
TEST(ReceiveQuotaTest, ADatagramAboveTheCapacityHasNoReadyTime) {
  ReceiveQuota quota;
  quota.set_capacity(1 << 20);
  Nanos now = millis(3);
  for (int i = 1; i < 20; ++i) {
    now = i * millis(3);
    quota.on_sent(now, 500'000);
    quota.on_acked(now, now - millis(3), 500'000, millis(3));
  }
  quota.set_capacity(3'424);
  ASSERT_GT(quota.most(), 9'512u) << "there is a road";
  ASSERT_LT(quota.left(now, 0), 9'512u);
  EXPECT_EQ(quota.ready_at(now, 0, 9'512), Nanos::never());
  EXPECT_NE(quota.ready_at(now, 0, 1'712), Nanos::never());
}

}  // namespace
}  // namespace heddle::transport
