// Behaviour of what a connection has under way: what the windows let out, path by path; tail
// probes, paths that are set aside and come back, sizes that a path passes, and what needless
// repeats teach.
#include "transport/connection/flight.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <utility>

#include "transport/testing/flight_fixture.h"
#include "transport/tx_batch.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::RecoveryStep;

constexpr uint32_t kLarge = 8952;

TEST_F(FlightTest, TheWindowBoundsWhatLeaves) {
  open(1);
  controller_->window_bytes = 30'000;
  uint64_t sent = 0;
  while (send()) sent += uint64_t{permit_.segments} * permit_.datagram_bytes;
  EXPECT_LE(sent, 30'000u);
  EXPECT_GE(sent, 24'000u);
  ack(0, {{1, sent / Flight::kBaseDatagram}});
  EXPECT_TRUE(send());
}

TEST_F(FlightTest, OneSegmentLeavesHoweverSmallTheWindow) {
  open(1);
  controller_->window_bytes = 10;
  EXPECT_TRUE(send());
  EXPECT_EQ(permit_.segments, 1u);
  EXPECT_FALSE(send());
}

TEST_F(FlightTest, ThePeersWindowCountsWhatADatagramCostsThere) {
  open(1);
  flight_.set_peer_window(20'000);
  uint64_t segments = 0;
  while (send()) segments += permit_.segments;
  EXPECT_EQ(segments, 20'000 / (Flight::kBaseDatagram + Flight::kReceiveOverhead));
  EXPECT_TRUE(permit_.last_for_now);
}

// Their difference overflowed, and the peer seemed to have held it for no time.
TEST_F(FlightTest, TimesOfThePeerWhoseDifferenceDoesNotFitAreTakenForTheNearest) {
  open(1);
  record(0, 1, 100);
  now_ += micros(300);
  AckFrame frame = frame_of(0, {{1, 1}});
  frame.received_at = Nanos{INT64_MIN};
  ASSERT_TRUE(flight_.on_ack(now_, Nanos::never(), frame));
  EXPECT_EQ(controller_->acks.back().rtt, nanos(1)) << "all of the time is the peer's own";
}

TEST_F(FlightTest, SmallMessagesThatLeaveTogetherShareAPath) {
  open(4);
  controller_->window_bytes = 4'000'000;  // large enough for full bursts
  std::map<uint16_t, int> sent;
  for (int i = 0; i < 120; ++i) {
    ASSERT_TRUE(flight_.permit(now_, random_, permit_));
    ++sent[permit_.path];
    record(permit_.path, 1, 500);
  }
  EXPECT_EQ(sent.size(), 2u);  // half a burst's bytes on the first, the others on the next
  now_ += micros(500);
  const uint16_t before = permit_.path;
  ASSERT_TRUE(flight_.permit(now_, random_, permit_));
  EXPECT_NE(permit_.path, before) << "for half a millisecond at most";
  flight_.note_idle();
  const uint16_t then = permit_.path;
  ASSERT_TRUE(flight_.permit(now_, random_, permit_));
  EXPECT_NE(permit_.path, then) << "and not over a pause";
}

TEST_F(FlightTest, AFullWindowAsksForAnAcknowledgementOnceAQuarterNotWithEachPacket) {
  open(1);
  flight_.set_peer_window(500'000);
  int asked = 0;
  int packets = 0;
  for (uint64_t number = 1; number <= 2'000; ++number) {
    if (number > 317) ack(0, {{number - 317, number - 317}});  // it stays full
    ASSERT_TRUE(flight_.permit(now_, random_, permit_));
    SentRun* run = flight_.record(permit_.path, 1);
    run->data = true;
    run->asks = flight_.worth_asking(1040, permit_.last_for_now);
    run->header_bytes = kDataHeaderBytes;
    run->row.step = run->row.last = 1000;
    asked += run->asks ? 1 : 0;
    ++packets;
    flight_.sent(now_, permit_.path);
  }
  EXPECT_GE(asked, 4);
  EXPECT_LE(asked, packets / 50);
}

// The peer tells of long bursts by fours: a window of three would leave, and stand still.
TEST_F(FlightTest, AWindowOfFewLongBurstsAsksInItsMiddle) {
  open(1);
  flight_.set_peer_window(180'000);
  EXPECT_FALSE(flight_.worth_asking(60'000, false));
  EXPECT_TRUE(flight_.worth_asking(90'000, false));
  EXPECT_FALSE(flight_.worth_asking(30'000, false)) << "of these each is told soon anyway";
  flight_.set_peer_window(500'000);
  EXPECT_FALSE(flight_.worth_asking(60'000, false));
}

TEST_F(FlightTest, AWindowHoldsWhatIsLeftOfItAndWhatThePeersSocketTakes) {
  open(1);
  controller_->window_bytes = 100'000;
  EXPECT_TRUE(flight_.window_holds(100'000, 12));
  EXPECT_FALSE(flight_.window_holds(100'001, 12));
  flight_.set_peer_window(100'000);
  EXPECT_FALSE(flight_.window_holds(100'000, 12))
      << "each datagram takes more there than its bytes";
  EXPECT_TRUE(flight_.window_holds(60'000, 50));
  EXPECT_FALSE(flight_.window_holds(60'000, 100));
}

TEST_F(FlightTest, APathHoldsOnlyItsShareOfTheWindow) {
  open(4);
  std::map<uint16_t, uint64_t> sent;
  while (send()) sent[permit_.path] += uint64_t{permit_.segments} * permit_.datagram_bytes;
  ASSERT_EQ(sent.size(), 4u);
  for (const auto& [path, bytes] : sent) EXPECT_LE(bytes, 500'000u) << path;
}

TEST_F(FlightTest, PacedItWaitsForItsTime) {
  open(1);
  controller_->rate = {1'000'000'000};
  int bursts = 0;
  while (send()) ASSERT_LT(++bursts, 10);
  EXPECT_GE(bursts, 1);
  EXPECT_GT(flight_.next_timeout(), now_);
  EXPECT_LE(flight_.next_timeout(), now_ + millis(1));
  now_ = flight_.next_timeout();
  EXPECT_TRUE(send());
}

TEST_F(FlightTest, WithoutARecordLeftNothingIsRecorded) {
  open(1);
  while (pool_.lent() < pool_.limit()) ASSERT_NE(pool_.lend(), kNoIndex);
  EXPECT_EQ(flight_.record(0, 1), nullptr);
}

// VOPR, seed 924 of its first options: losses were remembered until the next acknowledgement, and
// once they held every record nothing left that could be acknowledged.
TEST_F(FlightTest, RecordsOfLossesGiveWay) {
  open(1);
  lose_three();
  while (pool_.lent() < pool_.limit()) ASSERT_NE(pool_.lend(), kNoIndex);
  for (int i = 0; i < 2; ++i) {  // of three, a connection gets two thirds
    ASSERT_NE(flight_.record(0, 1), nullptr);
    flight_.sent(now_, 0);
  }
  EXPECT_EQ(flight_.record(0, 1), nullptr);
}

TEST_F(FlightTest, WhatWasLostIsForgottenWithoutAnAcknowledgement) {
  open(1);
  lose_three();
  wait(millis(200));
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(FlightTest, ADeadPathKeepsNoRecordsOfItsProbes) {
  open(1);
  ASSERT_TRUE(send(1));
  wait(seconds(60));
  EXPECT_GT(probes_[0], 100);
  EXPECT_LE(pool_.lent(), 2u);
}

TEST_F(FlightTest, WhatWasNeverSentCannotBeAcknowledged) {
  open(2);
  ASSERT_TRUE(send(3));
  EXPECT_FALSE(ack(permit_.path, {{1, 4}}));
  EXPECT_FALSE(ack(2, {{1, 1}}));
  EXPECT_FALSE(ack(UINT16_MAX, {{1, 1}}));
  EXPECT_TRUE(ack(permit_.path, {{1, 3}}));
  EXPECT_EQ(keeper_.acked, 3u);
}

TEST_F(FlightTest, AnAcknowledgementMeasuresWithoutTheTimeAtThePeer) {
  open(1, Flight::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  now_ += micros(500);
  AckFrame frame = frame_of(0, {{1, 1}});
  frame.received_at = seconds(77);  // by another clock
  ASSERT_TRUE(flight_.on_ack(now_, seconds(77) + micros(400), frame));
  EXPECT_EQ(path(0).smoothed_rtt, micros(100));
  EXPECT_EQ(controller_->acks[0].rtt, micros(100));
}

// The acknowledgement that told of it first was lost.
TEST_F(FlightTest, WhatThePeerHasToldBeforeMeasuresNothing) {
  open(1, Flight::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  ASSERT_TRUE(send(1));
  now_ += micros(100);
  ack(0, {{1, 1}});
  now_ += millis(50);
  AckFrame frame = frame_of(0, {{1, 2}});
  frame.received_at = kToldBefore;
  ASSERT_TRUE(flight_.on_ack(now_, now_, frame));
  EXPECT_EQ(keeper_.acked, 2u);
  EXPECT_EQ(path(0).smoothed_rtt, micros(100));
  send(1);
  wait(millis(5));
  EXPECT_EQ(probes_[0], 1) << "nor does it seem to have been held for long";
}

TEST_F(FlightTest, AnAcknowledgementOfOlderPacketsMeasuresNothing) {
  open(1, Flight::kBaseDatagram, {});
  ASSERT_TRUE(send(1));
  ASSERT_TRUE(send(1));
  now_ += micros(100);
  ack(0, {{2, 2}});
  const Nanos before = path(0).smoothed_rtt;
  now_ += millis(50);
  ack(0, {{1, 2}});
  EXPECT_EQ(path(0).smoothed_rtt, before);
}

TEST_F(FlightTest, MarksAreToldOnce) {
  open(1);
  ASSERT_TRUE(send(4));
  ack(0, {{1, 2}}, 2);
  EXPECT_EQ(controller_->acks.back().marked.count, 2u * Flight::kBaseDatagram);
  ack(0, {{1, 4}}, 2);
  EXPECT_EQ(controller_->acks.back().marked.count, 0u);
}

TEST_F(FlightTest, AGapIsRepeatedAndTold) {
  open(1);
  ASSERT_TRUE(send(10));
  ack(0, {{4, 10}});
  EXPECT_EQ(keeper_.lost, 3u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kGap);
  ASSERT_EQ(controller_->losses.size(), 1u);
  EXPECT_EQ(controller_->losses[0].lost.count, 3u * Flight::kBaseDatagram);
  EXPECT_EQ(steps(RecoveryStep::kGapRepeat), 1u);
  EXPECT_EQ(path(0).segments_lost, 3u);
}

TEST_F(FlightTest, ALoneBadPathIsToldApart) {
  open(4);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(10));
  for (uint16_t id = 1; id < 4; ++id) ack(id, {{1, 10}});
  now_ += millis(1);
  ack(0, {{5, 10}});
  EXPECT_TRUE(controller_->losses.back().others_clean);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(send(10));
  ack(1, {{15, 20}, {1, 10}});
  EXPECT_FALSE(controller_->losses.back().others_clean);
}

TEST_F(FlightTest, ANeedlessRepeatWidensTheWindowOfItsPath) {
  open(1);
  ASSERT_TRUE(send(10));
  ack(0, {{4, 10}});
  ASSERT_EQ(keeper_.lost, 3u);
  now_ += micros(80);
  ack(0, {{1, 10}});
  EXPECT_EQ(controller_->spurious, 1);
  EXPECT_EQ(flight_.spurious_segments(), 3u);
  EXPECT_EQ(steps(RecoveryStep::kWindowWidened), 1u);
  // The same lateness is not taken for loss again.
  ASSERT_TRUE(send(10));
  ack(0, {{14, 20}});
  EXPECT_EQ(keeper_.lost, 3u);
  wait(millis(1));
  ack(0, {{11, 20}});
  EXPECT_EQ(keeper_.lost, 3u);
}

TEST_F(FlightTest, WhatASwitchTrimmedIsLostAtOnceAndItsPathIsNot) {
  open(1);
  ASSERT_TRUE(send(20));
  EXPECT_FALSE(flight_.on_trimmed(now_, 0, 21)) << "never sent";
  EXPECT_FALSE(flight_.on_trimmed(now_, 0, 0));
  EXPECT_FALSE(flight_.on_trimmed(now_, 1, 1)) << "no such path";
  EXPECT_TRUE(flight_.on_trimmed(now_, 0, 20));
  EXPECT_TRUE(flight_.on_trimmed(now_, 0, 20)) << "told twice";
  EXPECT_EQ(keeper_.lost, 1u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kTrimmed);
  EXPECT_EQ(steps(RecoveryStep::kTrimRepeat), 1u);
  EXPECT_TRUE(path(0).active);
  EXPECT_TRUE(ack(0, {{1, 19}}));
  EXPECT_EQ(keeper_.lost, 1u);
  EXPECT_FALSE(flight_.awaits_ack());
}

// The queues of a fabric overflow here and there though there is room enough in all.
TEST_F(FlightTest, OnlyWhatIsTrimmedBeyondAnEighthOfTheWindowReducesIt) {
  open(1);
  controller_->window_bytes = 64 * Flight::kBaseDatagram;
  ASSERT_TRUE(send(64));
  for (uint64_t number = 1; number <= 8; ++number) flight_.on_trimmed(now_, 0, number);
  EXPECT_TRUE(controller_->losses.empty());
  now_ += millis(1);  // another round trip
  for (uint64_t number = 9; number <= 16; ++number) flight_.on_trimmed(now_, 0, number);
  EXPECT_TRUE(controller_->losses.empty());
  flight_.on_trimmed(now_, 0, 17);
  EXPECT_EQ(controller_->losses.size(), 1u);
  EXPECT_FALSE(controller_->losses.back().timeout);
}

TEST_F(FlightTest, ATailThatIsNotAnsweredIsProbed) {
  open(1);
  ASSERT_TRUE(send(2));
  wait(millis(5));
  EXPECT_EQ(probes_[0], 1);
  EXPECT_EQ(steps(RecoveryStep::kTailProbe), 1u);
  EXPECT_LT(flight_.first_unanswered(), now_);
  ack(0, {{3, 3}});  // the probe arrived, so the two before it did not
  EXPECT_EQ(keeper_.lost, 2u);
}

TEST_F(FlightTest, APathThatIsSilentWhileAnotherDeliversIsSetAside) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t silent = permit_.path;
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ASSERT_NE(permit_.path, silent);
  ack(permit_.path, {{1, 4}});
  EXPECT_FALSE(path(silent).active);
  EXPECT_EQ(keeper_.lost, 4u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kPathFailure);
  EXPECT_TRUE(controller_->losses.back().path_failure);
  // It carries nothing more.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(send(1));
    EXPECT_NE(permit_.path, silent);
    EXPECT_NE(flight_.control_path(), silent);
  }
}

TEST_F(FlightTest, APathIsNotSilentBeforeItsTime) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t slow = permit_.path;
  now_ += millis(2);
  ASSERT_TRUE(send(4));
  ack(permit_.path, {{1, 4}});
  EXPECT_TRUE(path(slow).active);
}

TEST_F(FlightTest, TheLastActivePathIsNotSetAsideForAnothersSake) {
  open(1);
  ASSERT_TRUE(send(4));
  now_ += millis(50);
  ASSERT_TRUE(send(4));
  ack(0, {{5, 8}});
  EXPECT_TRUE(path(0).active);
}

TEST_F(FlightTest, APathThatIsSetAsideIsAskedUntilItAnswers) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t silent = permit_.path;
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ack(permit_.path, {{1, 4}});
  drain_probes();
  wait(seconds(3));
  EXPECT_GE(probes_[silent], 10);  // at least every quarter of a second
  EXPECT_LE(probes_[silent], 40);
  EXPECT_EQ(steps(RecoveryStep::kPathReturned), 0u);
  const uint64_t newest = 4 + static_cast<uint64_t>(probes_[silent]);
  ASSERT_TRUE(ack(silent, {{newest, newest}}));
  EXPECT_TRUE(path(silent).active);
  EXPECT_EQ(steps(RecoveryStep::kPathReturned), 1u);
  std::set<uint16_t> used;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(send(1));
    used.insert(permit_.path);
  }
  EXPECT_TRUE(used.contains(silent));
}

TEST_F(FlightTest, APathThatWasNotHeardOfForLongIsAskedBeforeItCarriesPayload) {
  open(2);
  for (int i = 0; i < 2; ++i) {
    flight_.end_burst();
    ASSERT_TRUE(send(1));
    ASSERT_TRUE(ack(permit_.path, {{1, 1}}));
  }
  now_ += millis(50);
  flight_.end_burst();
  ASSERT_TRUE(send(1));
  const uint16_t fresh = permit_.path;
  const auto old = static_cast<uint16_t>(1 - fresh);
  ASSERT_TRUE(ack(fresh, {{2, 2}}));
  for (int i = 0; i < 10; ++i) {
    flight_.end_burst();
    ASSERT_TRUE(send(1));
    EXPECT_EQ(permit_.path, fresh);
    drain_probes();
  }
  EXPECT_EQ(probes_[old], 1) << "asked once, not with each burst";
  ASSERT_TRUE(ack(old, {{2, 2}}));
  std::set<uint16_t> used;
  for (int i = 0; i < 2; ++i) {
    flight_.end_burst();
    ASSERT_TRUE(send(1));
    used.insert(permit_.path);
  }
  EXPECT_EQ(used.size(), 2u);
}

// Messages of 1 KiB, one each 10 us, of which so many are under way together; all arrive. After
// every thousand comes a pause, in which every path grows old.
class SmallMessages : public FlightTest {
 protected:
  void send_small(uint16_t paths, int count, size_t together);
  // Sends the questions that are due: the paths that are asked.
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
  open(paths, Flight::kBaseDatagram, micros(10));
  std::map<uint16_t, uint64_t> packets;
  std::set<uint16_t> used;
  std::deque<std::pair<uint16_t, uint64_t>> under_way;
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(flight_.permit(now_, random_, permit_));
    record(permit_.path, 1, 1024);
    used.insert(permit_.path);
    under_way.emplace_back(permit_.path, ++packets[permit_.path]);
    flight_.end_burst();
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

// Each message of 1 KiB chose another path and asked it, and questions were as many as messages.
TEST_F(SmallMessages, AskFewOldPaths) {
  send_small(64, 40'000, 32);
  EXPECT_GT(questions(), 500) << "what is under way would gain by another path";
  EXPECT_LT(questions(), 4000);
}

// A question was one in ten of the packets of a program whose messages answer each other, and each
// message behind one waited for it.
TEST_F(SmallMessages, HardlyAskOldPathsOneAtATime) {
  send_small(32, 40'000, 1);
  EXPECT_GT(questions(), 32);
  EXPECT_LT(questions(), 200);
}

// They would stay for minutes with a path that became slow but loses nothing.
TEST_F(SmallMessages, AskOldPathsOneAtATimeWhereRoundTripsAreLong) {
  open(8, Flight::kBaseDatagram, micros(10));
  std::map<uint16_t, uint64_t> packets;
  for (int i = 0; i < 2000; ++i) {  // 200 kB
    ASSERT_TRUE(flight_.permit(now_, random_, permit_));
    record(permit_.path, 1, 100);
    flight_.end_burst();
    now_ += millis(5);
    const uint64_t number = ++packets[permit_.path];
    ASSERT_TRUE(ack(permit_.path, {{number, number}}));
    for (const uint16_t path : ask()) {
      ++packets[path];
      ASSERT_TRUE(ack(path, {{packets[path], packets[path]}}));
    }
  }
  EXPECT_GE(questions(), 4);
  EXPECT_LT(questions(), 60);
}

// They would stay with it until half a burst was sent.
TEST_F(FlightTest, SmallMessagesAskAtOnceWhereTheirPathLosesSome) {
  open(8, Flight::kBaseDatagram, micros(10));
  const auto send_small = [this] {
    ASSERT_TRUE(flight_.permit(now_, random_, permit_));
    record(permit_.path, 1, 100);
    flight_.end_burst();
    drain_probes();
  };
  for (int i = 0; i < 8; ++i) {
    send_small();
    ASSERT_TRUE(ack(permit_.path, {{1, 1}}));
  }
  now_ += millis(1);
  send_small();  // all are old: this one is as good as any
  const uint16_t known = permit_.path;
  ASSERT_TRUE(ack(known, {{2, 2}}));
  send_small();
  const size_t asked = probes_.size();
  ASSERT_GT(asked, 0u);
  for (int i = 0; i < 4; ++i) send_small();
  EXPECT_EQ(permit_.path, known);
  ASSERT_EQ(probes_.size(), asked) << "little was sent since";
  ASSERT_TRUE(ack(known, {{6, 7}}));
  ASSERT_GT(keeper_.lost, 0u);
  for (int i = 0; i < 4; ++i) send_small();
  EXPECT_GT(probes_.size(), asked);
}

TEST_F(FlightTest, WhenNoPathAnswersAllAreSetAsideAndAsked) {
  open(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(2));
  wait(seconds(2));
  EXPECT_FALSE(flight_.any_active());
  EXPECT_EQ(keeper_.lost, 6u);
  EXPECT_FALSE(send());
  for (uint16_t id = 0; id < 3; ++id) EXPECT_GE(probes_[id], 4) << id;
  EXPECT_LT(flight_.first_unanswered(), seconds(10) + millis(200));
}

TEST_F(FlightTest, ADeadPathAmongLivingOnesSaysNothingOfThePeer) {
  open(2);
  ASSERT_TRUE(send(4));
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ack(permit_.path, {{1, 4}});
  flight_.peer_was_heard();
  wait(seconds(2));
  EXPECT_EQ(flight_.first_unanswered(), Nanos::never());
}

TEST_F(FlightTest, PathsStartSmallAndGrowToWhatPasses) {
  open(1, kLarge);
  ASSERT_TRUE(send(1));
  EXPECT_EQ(permit_.datagram_bytes, Flight::kBaseDatagram);
  uint16_t id = 0;
  ASSERT_EQ(probe_size(id), kLarge);
  EXPECT_EQ(probe_size(id), 0u);  // one at a time
  ack(0, {{2, 2}});
  EXPECT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
  EXPECT_EQ(probe_size(id), 0u);
}

TEST_F(FlightTest, ASizeThatDoesNotPassGivesWayToTheNext) {
  open(1, kLarge);
  uint16_t id = 0;
  uint64_t number = 0;
  std::vector<uint32_t> tried;
  while (true) {
    const uint32_t bytes = probe_size(id);
    if (bytes == 0) break;
    ++number;
    tried.push_back(bytes);
    ASSERT_TRUE(send(4));  // small ones pass
    number += 4;
    const bool passes = bytes <= 1472;
    now_ += micros(50);
    ack(0, {{passes ? number - 4 : number - 3, number}});
    flight_.peer_was_heard();
    wait(millis(1));
  }
  EXPECT_EQ(tried, (std::vector<uint32_t>{kLarge, kLarge, kLarge, 4048, 4048, 4048, 1472}));
  EXPECT_EQ(path(0).segment_bytes, 1472 - kDataHeaderBytes);
  EXPECT_EQ(controller_->losses.size(), 0u);  // a size that does not pass is no congestion
}

TEST_F(FlightTest, WhatTheNetworkSaysOfSizesIsTried) {
  open(1, kLarge);
  uint16_t id = 0;
  ASSERT_EQ(probe_size(id), kLarge);
  flight_.on_too_large(now_, 0, 1450);
  ASSERT_EQ(probe_size(id), 1450u);
  ack(0, {{2, 2}});
  EXPECT_EQ(path(0).segment_bytes, 1450 - kDataHeaderBytes);
  flight_.on_too_large(now_, 0, 100);    // below what every network passes: a lie
  flight_.on_too_large(now_, 0, 9000);   // larger than what is used: no news
  flight_.on_too_large(now_, 99, 1300);  // no such path
  EXPECT_EQ(path(0).segment_bytes, 1450 - kDataHeaderBytes);
}

TEST_F(FlightTest, ASmallerSizeOfTheNetworkIsTakenAtOnce) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  ASSERT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
  flight_.on_too_large(now_, 0, 1400);
  EXPECT_EQ(path(0).segment_bytes, 1400 - kDataHeaderBytes);
}

TEST_F(FlightTest, AProbeOfASizeThatCouldNotLeaveIsTriedAgain) {
  open(8, kLarge);
  uint16_t id = 0;
  uint32_t bytes = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(flight_.poll_size_probe(id, bytes));  // and no record was left for it
  }
}

TEST_F(FlightTest, OnlySomeSizesAreTriedAtATime) {
  open(64, kLarge);
  uint16_t id = 0;
  int tried = 0;
  while (probe_size(id) != 0) ++tried;
  EXPECT_GE(tried, 1);
  EXPECT_LE(tried, 4);
}

TEST_F(FlightTest, APathThatStoppedAnsweringIsFoundSmallAgain) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  ASSERT_TRUE(send(4));
  EXPECT_EQ(permit_.datagram_bytes, kLarge);
  wait(seconds(1));
  ASSERT_FALSE(path(0).active);
  EXPECT_EQ(path(0).segment_bytes, Flight::kBaseDatagram - kDataHeaderBytes);
  const uint64_t newest = 5 + static_cast<uint64_t>(probes_[0]);
  ASSERT_TRUE(ack(0, {{newest, newest}}));
  EXPECT_EQ(probe_size(id), kLarge);
}

TEST_F(FlightTest, APathThatLosesEveryLargeDatagramIsFoundSmallAgain) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  uint64_t number = 1;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes) << round;
    ASSERT_TRUE(send(4));
    for (int i = 0; i < 4; ++i) {  // small ones pass
      record(0, 1, 200);
    }
    number += 8;
    now_ += micros(100);
    ack(0, {{number - 3, number}});
    now_ += micros(100);
  }
  EXPECT_EQ(path(0).segment_bytes, Flight::kBaseDatagram - kDataHeaderBytes);
  EXPECT_EQ(steps(RecoveryStep::kSizeLowered), 1u);
  EXPECT_EQ(probe_size(id), kLarge);
}

TEST_F(FlightTest, LossOfSomeLargeDatagramsSaysNothingOfTheirSize) {
  open(1, kLarge);
  uint16_t id = 0;
  probe_size(id);
  ack(0, {{1, 1}});
  uint64_t number = 1;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(send(7));
    number += 7;
    now_ += micros(100);
    ack(0, {{number - 2, number}});
    now_ += micros(100);
  }
  EXPECT_EQ(path(0).segment_bytes, kLarge - kDataHeaderBytes);
}

TEST_F(FlightTest, ClosingGivesEverythingBack) {
  open(4, kLarge);
  while (send()) continue;
  EXPECT_GT(pool_.lent(), 0u);
  flight_.close();
  EXPECT_EQ(pool_.lent(), 0u);
  EXPECT_EQ(flight_.next_timeout(), Nanos::never());
}

}  // namespace
}  // namespace heddle::transport
