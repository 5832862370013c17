// Ledgers in random histories: two ends and the relays between them, each of which loses all that
// it holds at any moment. Every frame is used once and in order, every message completes, and none
// before the receiving end has it.
#include "relaying/ledger.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/random.h"

namespace heddle::relaying {
namespace {

// One direction of a session over `hops` relays, seed by seed.
class History {
 public:
  History(uint64_t seed, size_t hops) : random_(seed), there_(hops + 1), back_(hops + 1) {}

  void run() {
    const uint64_t messages = random_.between(1, 60);
    uint64_t added = 0;
    for (int step = 0; completed_ < messages; ++step) {
      ASSERT_LT(step, 200'000) << "a message never completes";
      const uint64_t what = random_.below(100);
      if (what < 10 && added < messages) {
        const uint64_t frames = random_.between(1, 12);
        ASSERT_EQ(sender_.add(frames), added++);
        ends_.push_back((ends_.empty() ? 0 : ends_.back()) + frames);
      } else if (what < 40) {
        if (const auto next = connected_ ? sender_.take_next() : std::nullopt) {
          ASSERT_EQ(next->sequence, first_of(next->message) + next->frame);
          there_.front().push_back(next->sequence);
        }
      } else if (what < 85) {
        move();
      } else if (what < 97) {
        back_.front().push_back(receiver_.received());
      } else if (what == 97) {
        break_anywhere();
      } else if (!connected_) {
        reconnect();
      }
      complete();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(used_, ends_.back());
    EXPECT_TRUE(sender_.all_confirmed());
  }

  uint64_t breaks() const { return breaks_; }

 private:
  uint64_t first_of(uint64_t message) const { return message == 0 ? 0 : ends_[message - 1]; }

  // One frame goes one hop further.
  void move() {
    const size_t hop = random_.below(there_.size());
    const bool last = hop + 1 == there_.size();
    if (random_.below(2) == 0) {
      if (there_[hop].empty()) return;
      const uint64_t sequence = there_[hop].front();
      there_[hop].pop_front();
      if (!last) return there_[hop + 1].push_back(sequence);
      const ReceiveLedger::Verdict verdict = receiver_.take(sequence);
      ASSERT_NE(verdict, ReceiveLedger::Verdict::kGap);
      if (verdict == ReceiveLedger::Verdict::kNew) {
        ASSERT_EQ(sequence, used_++);
      }
      return;
    }
    if (back_[hop].empty()) return;
    const uint64_t received = back_[hop].front();
    back_[hop].pop_front();
    if (!last) return back_[hop + 1].push_back(received);
    ASSERT_TRUE(sender_.confirm(received));
  }

  // A relay is killed: what it and the connections held is gone, in both directions.
  void break_anywhere() {
    for (auto& each : there_) each.clear();
    for (auto& each : back_) each.clear();
    connected_ = false;
    ++breaks_;
  }

  void reconnect() {
    ASSERT_TRUE(sender_.rewind(receiver_.received()));
    connected_ = true;
  }

  void complete() {
    while (const auto message = sender_.take_complete()) {
      ASSERT_EQ(*message, completed_++);
      ASSERT_LE(ends_[*message], receiver_.received()) << "complete before the far end has it";
    }
  }

  Random random_;
  SendLedger sender_;
  ReceiveLedger receiver_;
  std::vector<std::deque<uint64_t>> there_;
  std::vector<std::deque<uint64_t>> back_;
  std::vector<uint64_t> ends_;  // sequence after the last frame of each message
  uint64_t used_ = 0;
  uint64_t completed_ = 0;
  uint64_t breaks_ = 0;
  bool connected_ = true;
};

TEST(Ledger, EveryMessageOnceAndInOrderWhateverBreaks) {
  uint64_t breaks = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed, seed % 4);
    history.run();
    if (testing::Test::HasFailure()) return;
    breaks += history.breaks();
  }
  EXPECT_GT(breaks, 2000U);
}

TEST(Ledger, ConfirmationOfWhatWasNeverSentIsRefused) {
  SendLedger ledger;
  ledger.add(3);
  EXPECT_FALSE(ledger.confirm(1));
  ASSERT_TRUE(ledger.take_next());
  ASSERT_TRUE(ledger.take_next());
  EXPECT_FALSE(ledger.confirm(3));
  EXPECT_TRUE(ledger.confirm(1));
  EXPECT_FALSE(ledger.rewind(0)) << "it was confirmed";
  EXPECT_FALSE(ledger.rewind(3)) << "it was never sent";
  EXPECT_TRUE(ledger.rewind(1));
  EXPECT_FALSE(ledger.confirm(2)) << "not sent since";
  EXPECT_EQ(ledger.take_next()->sequence, 1U);
  EXPECT_EQ(ledger.retransmitted(), 1U);
}

TEST(Ledger, DoublesAreDroppedAndGapsAreNoticed) {
  ReceiveLedger ledger;
  EXPECT_EQ(ledger.take(1), ReceiveLedger::Verdict::kGap);
  EXPECT_EQ(ledger.take(0), ReceiveLedger::Verdict::kNew);
  EXPECT_EQ(ledger.take(0), ReceiveLedger::Verdict::kDouble);
  EXPECT_EQ(ledger.take(1), ReceiveLedger::Verdict::kNew);
  EXPECT_EQ(ledger.received(), 2U);
  EXPECT_EQ(ledger.doubles(), 1U);
}

}  // namespace
}  // namespace heddle::relaying
