// Which path a burst takes: small messages together, each path its share, and probes of stale
// paths.
#include "transport/path/path_scheduler.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

class PathSchedulerTest : public SendTest {};

TEST_F(PathSchedulerTest, SmallMessagesThatLeaveTogetherShareAPath) {
  open(4);
  controller_->window_bytes = 4'000'000;  // large enough for full bursts
  std::map<uint16_t, int> sent;
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
    ++sent[quota_.path];
    record(quota_.path, 1, 500);
  }
  EXPECT_EQ(sent.size(), 2u);  // half a burst's bytes on the first, the others on the next
  now_ += micros(500);
  const uint16_t before = quota_.path;
  ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
  EXPECT_NE(quota_.path, before) << "for half a millisecond at most";
  sender_.note_idle();
  const uint16_t then = quota_.path;
  ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
  EXPECT_NE(quota_.path, then) << "and not over a pause";
}

TEST_F(PathSchedulerTest, APathHoldsAtMostTwiceItsEvenShareOfTheWindow) {
  open(4);
  std::map<uint16_t, uint64_t> sent;
  while (send()) sent[quota_.path] += uint64_t{quota_.segments} * quota_.datagram_bytes;
  ASSERT_EQ(sent.size(), 4u);
  for (const auto& [path, bytes] : sent) EXPECT_LE(bytes, 500'000u) << path;
}

TEST_F(PathSchedulerTest, APathWithStaleSamplesIsProbedBeforeItCarriesPayload) {
  open(2);
  for (int i = 0; i < 2; ++i) {
    sender_.end_burst();
    ASSERT_TRUE(send(1));
    ASSERT_TRUE(ack(quota_.path, {{1, 1}}));
  }
  now_ += millis(50);
  sender_.end_burst();
  ASSERT_TRUE(send(1));
  const uint16_t fresh = quota_.path;
  const auto old = static_cast<uint16_t>(1 - fresh);
  ASSERT_TRUE(ack(fresh, {{2, 2}}));
  for (int i = 0; i < 10; ++i) {
    sender_.end_burst();
    ASSERT_TRUE(send(1));
    EXPECT_EQ(quota_.path, fresh);
    drain_probes();
  }
  EXPECT_EQ(probes_[old], 1) << "probed once, not with each burst";
  ASSERT_TRUE(ack(old, {{2, 2}}));
  std::set<uint16_t> used;
  for (int i = 0; i < 2; ++i) {
    sender_.end_burst();
    ASSERT_TRUE(send(1));
    used.insert(quota_.path);
  }
  EXPECT_EQ(used.size(), 2u);
}

// They would stay with it until half a burst was sent.
TEST_F(PathSchedulerTest, SmallMessagesOnALossyPathProbeStalePathsAtOnce) {
  open(8, SendController::kBaseDatagram, micros(10));
  const auto send_small = [this] {
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
    record(quota_.path, 1, 100);
    sender_.end_burst();
    drain_probes();
  };
  for (int i = 0; i < 8; ++i) {
    send_small();
    ASSERT_TRUE(ack(quota_.path, {{1, 1}}));
  }
  now_ += millis(1);
  send_small();  // all are old: this one is as good as any
  const uint16_t known = quota_.path;
  ASSERT_TRUE(ack(known, {{2, 2}}));
  send_small();
  const size_t asked = probes_.size();
  ASSERT_GT(asked, 0u);
  for (int i = 0; i < 4; ++i) send_small();
  EXPECT_EQ(quota_.path, known);
  ASSERT_EQ(probes_.size(), asked) << "little was sent since";
  ASSERT_TRUE(ack(known, {{6, 7}}));
  ASSERT_GT(keeper_.lost, 0u);
  for (int i = 0; i < 4; ++i) send_small();
  EXPECT_GT(probes_.size(), asked);
}

// Messages of 1 KiB, one each 10 us, of which `together` are in flight; all arrive. After
// every thousand comes a pause, in which every path grows old.
class SmallMessages : public PathSchedulerTest {
 protected:
  void send_small(uint16_t paths, int count, size_t together);
  // Sends the probes that are due; returns their paths.
  std::vector<uint16_t> ask();
  int questions() const;
};

std::vector<uint16_t> SmallMessages::ask() {
  std::map<uint16_t, int> before = probes_;
  drain_probes();
  std::vector<uint16_t> asked;
  for (const auto& [path, count] : probes_) {
    asked.insert(asked.end(), static_cast<size_t>(count - before[path]), path);
  }
  return asked;
}

void SmallMessages::send_small(uint16_t paths, int count, size_t together) {
  open(paths, SendController::kBaseDatagram, micros(10));
  std::map<uint16_t, uint64_t> packets;
  std::set<uint16_t> used;
  std::deque<std::pair<uint16_t, uint64_t>> under_way;
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
    record(quota_.path, 1, 1024);
    used.insert(quota_.path);
    under_way.emplace_back(quota_.path, ++packets[quota_.path]);
    sender_.end_burst();
    for (const uint16_t path : ask()) under_way.emplace_back(path, ++packets[path]);
    now_ += micros(10);
    const bool pauses = i % 1000 == 999;
    while (under_way.size() >= (pauses ? 1 : together)) {
      const auto [path, number] = under_way.front();
      ASSERT_TRUE(ack(path, {{number, number}}));
      under_way.pop_front();
    }
    if (pauses) now_ += millis(50);
  }
  EXPECT_EQ(used.size(), paths) << "all are taken in time";
}

int SmallMessages::questions() const {
  int questions = 0;
  for (const auto& [id, count] : probes_) questions += count;
  return questions;
}

// Each message of 1 KiB chose another path and probed it, so there were as many probes as messages.
TEST_F(SmallMessages, AtHighLoadProbeFewStalePaths) {
  send_small(64, 40'000, 32);
  EXPECT_GT(questions(), 500) << "packets in flight would gain by another path";
  EXPECT_LT(questions(), 4000);
}

// A question was one in ten of the packets of a program whose messages answer each other, and each
// message behind one waited for it.
TEST_F(SmallMessages, AtLowLoadProbeAlmostNoStalePaths) {
  send_small(32, 40'000, 1);
  EXPECT_GT(questions(), 32);
  EXPECT_LT(questions(), 200);
}

// They would stay for minutes with a path that became slow but loses nothing.
TEST_F(SmallMessages, AtLowLoadProbeStalePathsWhereRoundTripsAreLong) {
  open(8, SendController::kBaseDatagram, micros(10));
  std::map<uint16_t, uint64_t> packets;
  for (int i = 0; i < 2000; ++i) {  // 200 kB
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota_));
    record(quota_.path, 1, 100);
    sender_.end_burst();
    now_ += millis(5);
    const uint64_t number = ++packets[quota_.path];
    ASSERT_TRUE(ack(quota_.path, {{number, number}}));
    for (const uint16_t path : ask()) {
      ++packets[path];
      ASSERT_TRUE(ack(path, {{packets[path], packets[path]}}));
    }
  }
  EXPECT_GE(questions(), 4);
  EXPECT_LT(questions(), 60);
}

}  // namespace
}  // namespace heddle::transport
