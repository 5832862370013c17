// KeepAlive: when a silent peer is probed, and when it counts as dead.
#include "transport/connection/keep_alive.h"

#include <gtest/gtest.h>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

constexpr Nanos kStart = seconds(100);
constexpr Nanos kDeadAfter = seconds(5);

class KeepAliveTest : public ::testing::Test {
 protected:
  KeepAliveTest() { keep_alive_.open(kStart, false); }

  // Runs its timeouts up to `end`, answering no probe; returns when the peer counted as dead.
  Nanos run_until_dead(Nanos end, bool busy) {
    Nanos now = kStart;
    while (keep_alive_.next_timeout() <= end) {
      now = std::max(now, keep_alive_.next_timeout());
      const KeepAlive::Check check = keep_alive_.handle_timeout(now, busy);
      if (check.death_cause != nullptr) return now;
      if (keep_alive_.probe_due()) {
        ++probes_;
        keep_alive_.note_probe_sent();
      }
    }
    return Nanos::never();
  }

  Statistics statistics_;
  Observer observer_{nullptr, statistics_};
  SentBurstPool pool_{16};
  Keeper listener_;
  SendController sender_{pool_, observer_, 7, listener_};
  KeepAlive keep_alive_{sender_, observer_, 7, kDeadAfter};
  int probes_ = 0;
};

TEST_F(KeepAliveTest, ASilentPeerOfABusyConnectionIsProbedAfterAFifthOfItsTimeToDie) {
  EXPECT_EQ(keep_alive_.next_timeout(), kStart + kDeadAfter / 5);
  keep_alive_.handle_timeout(kStart + kDeadAfter / 5, true);
  EXPECT_TRUE(keep_alive_.probe_due());
  EXPECT_NE(sender_.first_unanswered(), Nanos::never());
}

TEST_F(KeepAliveTest, ASilentPeerOfAnIdleConnectionIsProbedLater) {
  keep_alive_.handle_timeout(kStart + kDeadAfter / 5, false);
  EXPECT_FALSE(keep_alive_.probe_due());
  EXPECT_EQ(keep_alive_.next_timeout(), kStart + 2 * kDeadAfter);
}

TEST_F(KeepAliveTest, APeerThatAnswersNoProbeIsDeadInTime) {
  const Nanos first_probe = kStart + kDeadAfter / 5;
  EXPECT_EQ(run_until_dead(kStart + seconds(60), true), first_probe + kDeadAfter);
  EXPECT_GT(probes_, 2);
}

TEST_F(KeepAliveTest, APeerThatIsHeardLives) {
  keep_alive_.handle_timeout(kStart + kDeadAfter / 5, true);
  keep_alive_.on_heard(kStart + kDeadAfter);
  EXPECT_EQ(sender_.first_unanswered(), Nanos::never());
  const KeepAlive::Check check = keep_alive_.handle_timeout(kStart + 2 * kDeadAfter, true);
  EXPECT_TRUE(check.done);
  EXPECT_EQ(check.death_cause, nullptr);
}

TEST_F(KeepAliveTest, AClosedPortIsBelievedOnlyIfThePeerStaysSilent) {
  keep_alive_.on_port_closed(kStart + millis(10));
  EXPECT_TRUE(keep_alive_.probe_due());
  EXPECT_EQ(keep_alive_.handle_timeout(kStart + millis(100), false).death_cause, nullptr);
  EXPECT_NE(keep_alive_.handle_timeout(kStart + millis(210), false).death_cause, nullptr);
}

TEST_F(KeepAliveTest, AClosedPortOfAPeerThatIsHeardIsIgnored) {
  keep_alive_.on_port_closed(kStart + millis(10));
  keep_alive_.on_heard(kStart + millis(20));
  EXPECT_EQ(keep_alive_.handle_timeout(kStart + millis(300), false).death_cause, nullptr);
}

TEST_F(KeepAliveTest, SomethingToPostOnAnIdleConnectionBringsTheNextCheckForward) {
  keep_alive_.handle_timeout(kStart + kDeadAfter / 5, false);
  const Nanos now = kStart + kDeadAfter;
  keep_alive_.watch(now);
  EXPECT_EQ(keep_alive_.next_timeout(), now + kDeadAfter / 5);
}

TEST_F(KeepAliveTest, NoCheckIsDoneBeforeItIsDue) {
  EXPECT_FALSE(keep_alive_.handle_timeout(kStart + millis(1), true).done);
}

}  // namespace
}  // namespace heddle::transport
