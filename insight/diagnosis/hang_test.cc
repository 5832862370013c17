// Hangs and mismatches: which link or NIC carries no data, which ranks wait in a circle, and which
// rank left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "insight/confidence.h"
#include "insight/diagnosis.h"
#include "insight/diagnosis/params.h"

namespace heddle::insight {
namespace {

using events::Operation;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kWorld = 9;
constexpr uint64_t kOther = 10;
constexpr uint32_t kRanks = 4;
constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kHung = 21;  // call that does not end
constexpr int64_t kHungAt = kHung * 10 * kMs;
constexpr int64_t kEnd = kHungAt + 15'000 * kMs;

uint32_t connection_to(uint32_t rank) { return rank + 1; }

class HangTest : public ::testing::Test {
 protected:
  // A process whose recording is not closed lives, if its events go on.
  void begin(bool one_host = false) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder_.add_process(
          {{"host", one_host ? "h" : "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}},
          {.closed = false});
      for (const uint64_t communicator : {kWorld, kOther}) {
        builder_.add(rank, events::CommunicatorMade{{}, communicator, rank, kRanks}, 0);
      }
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        builder_.add(rank, events::CommunicatorLinked{{}, kWorld, peer, connection_to(peer)}, 0);
      }
    }
    for (uint32_t call = 1; call < kHung; ++call) {
      for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, call, call * 10 * kMs);
      for (uint32_t rank = 0; rank < kRanks; ++rank) end(rank, call, (call * 10 + 2) * kMs);
    }
  }

  void make(uint32_t rank, uint32_t call, int64_t at, uint64_t communicator = kWorld) {
    builder_.add(rank,
                 events::CallMade{{},
                                  communicator,
                                  call,
                                  call,
                                  Operation::kAllreduce,
                                  events::ElementType::kFloat,
                                  100,
                                  0,
                                  0},
                 at);
    builder_.add(rank,
                 events::CallStarted{{},
                                     communicator,
                                     call,
                                     Operation::kAllreduce,
                                     events::Algorithm::kRing,
                                     2,
                                     2,
                                     24,
                                     128 << 10},
                 at);
    builder_.add(rank, events::WaitBegun{{}, communicator, call}, at);
  }
  void end(uint32_t rank, uint32_t call, int64_t at) {
    builder_.add(rank, events::WaitEnded{{}, kWorld, call}, at);
    builder_.add(rank, events::CallEnded{{}, kWorld, call, true}, at);
  }
  void all_start() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, kHung, kHungAt);
  }
  void receive(uint32_t from, uint32_t to, uint32_t messages) {
    for (uint32_t i = 0; i < messages; ++i) {
      builder_.add(to,
                   events::MessageCompleted{
                       {}, connection_to(from), 2, i, 1000, events::Direction::kReceived},
                   kHungAt + (i + 1) * kMs);
    }
  }
  // `from` sent to `to` again, since nothing was acknowledged in time.
  void time_out(uint32_t from, uint32_t to, int64_t at) {
    builder_.add(
        from, events::Recovery{{}, connection_to(to), 0, events::RecoveryStep::kTimeoutRetransmit},
        at);
  }
  // The only verdict.
  Verdict judged() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) builder_.add(rank, events::Mark{}, kEnd);
    diagnosis_ = builder_.finish();
    EXPECT_EQ(diagnosis_.verdicts.size(), 1u);
    if (diagnosis_.verdicts.size() != 1) return {};
    const Verdict& verdict = diagnosis_.verdicts[0];
    const auto range = confidence_range(verdict.what, verdict.place.kind);
    EXPECT_TRUE(range) << name_of(verdict.what) << " at " << name_of(verdict.place.kind);
    if (range) {
      EXPECT_GE(verdict.confidence, range->least);
      EXPECT_LE(verdict.confidence, range->most);
    }
    return verdict;
  }
  std::string place(const Verdict& verdict) const { return place_text(diagnosis_, verdict.place); }

  DiagnosisBuilder builder_;
  Diagnosis diagnosis_;
};

// In a ring rank n sends on what it received: behind a dead link all get a message less than the
// rank before them.
TEST_F(HangTest, TheLinkOnWhichMessagesAreMissingIsNamed) {
  begin();
  all_start();
  receive(1, 2, 2);
  receive(2, 3, 3);
  receive(3, 0, 4);
  receive(0, 1, 5);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place(verdict), "link from rank 1 on h1 to rank 2 on h2");
  EXPECT_EQ(verdict.since_ns, kHungAt);
  EXPECT_EQ(verdict.confidence, params::kPlaced);
  EXPECT_THAT(
      verdict.evidence,
      Contains("rank 1 on h1 received 5 messages of it and rank 2 on h2 only 2 from there"));
  EXPECT_THAT(verdict.evidence, Not(Contains(HasSubstr("only 3"))));
  EXPECT_THAT(verdict.action, HasSubstr("`heddle ping`"));
}

TEST_F(HangTest, TheLinkThatRetransmitsIsNamed) {
  begin();
  time_out(3, 0, kHungAt - kMs);  // an operation before, which ended
  all_start();
  time_out(1, 2, kHungAt + 300 * kMs);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place(verdict), "link from rank 1 on h1 to rank 2 on h2");
  EXPECT_THAT(verdict.evidence,
              Contains("rank 1 on h1 retransmitted data to rank 2 on h2 after time-outs"));
  EXPECT_THAT(verdict.evidence, Not(Contains(HasSubstr("rank 3 on h3 retransmitted"))));
}

TEST_F(HangTest, TheNicToWhichAllRetransmitIsNamedAsReceiving) {
  begin();
  all_start();
  for (const uint32_t from : {0u, 1u, 3u}) time_out(from, 2, kHungAt + 300 * kMs);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place(verdict), "NIC of h2 (receiving)");
}

TEST_F(HangTest, TheNicThatRetransmitsToAllIsNamedAsSending) {
  begin();
  all_start();
  for (const uint32_t to : {0u, 1u, 3u}) time_out(2, to, kHungAt + 300 * kMs);
  EXPECT_EQ(place(judged()), "NIC of h2 (sending)");
}

TEST_F(HangTest, TheNicThatIsDeadBothWaysIsNamed) {
  begin();
  all_start();
  for (const uint32_t other : {0u, 1u, 3u}) {
    time_out(2, other, kHungAt + 300 * kMs);
    time_out(other, 2, kHungAt + 300 * kMs);
  }
  EXPECT_EQ(place(judged()), "NIC of h2");
}

TEST_F(HangTest, WithoutMessagesThePlaceIsUnknownAndTheConfidenceLower) {
  begin();
  all_start();
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(verdict.place.kind, PlaceKind::kJob);
  EXPECT_EQ(verdict.confidence, params::kUnplaced);
}

TEST_F(HangTest, WithinOneHostNoSwitchIsLookedAt) {
  begin(true);
  all_start();
  EXPECT_THAT(judged().action, HasSubstr("look whether these processes live"));
}

// Ranks 0 and 1 call the world's operation first, 2 and 3 that of the other communicator.
TEST_F(HangTest, RanksThatWaitForEachOtherAreACircle) {
  begin();
  for (const uint32_t rank : {0u, 1u}) make(rank, kHung, kHungAt);
  for (const uint32_t rank : {2u, 3u}) make(rank, 1, kHungAt + kMs, kOther);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kMismatch);
  EXPECT_EQ(verdict.place.kind, PlaceKind::kGroup);
  EXPECT_EQ(verdict.place.processes, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_THAT(verdict.summary, HasSubstr("in a circle"));
  EXPECT_THAT(verdict.evidence, Contains("rank 0 on h0 waits in allreduce 21"));
  EXPECT_THAT(verdict.evidence, Contains("rank 3 on h3 waits in allreduce 1"));
  EXPECT_THAT(verdict.action, HasSubstr("in one order on all ranks"));
}

// Rank 3 has called the other communicator's operation, and waits in none.
TEST_F(HangTest, ARankThatWaitsInNothingIsTheCauseAndNoCircle) {
  begin();
  for (const uint32_t rank : {0u, 1u, 2u}) make(rank, kHung, kHungAt);
  make(3, 1, kHungAt, kOther);
  builder_.add(3, events::WaitEnded{{}, kOther, 1}, kHungAt + kMs);
  Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kNonCommunicationHang);
  EXPECT_EQ(place(verdict), "rank 3 on h3");
}

TEST_F(HangTest, ARankThatLeftMadeFewerCallsThanTheOthers) {
  begin();
  for (const uint32_t rank : {0u, 1u, 2u}) make(rank, kHung, kHungAt);
  builder_.add(3, events::CommunicatorEnded{{}, kWorld}, kHungAt);
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.what, VerdictClass::kMismatch);
  EXPECT_EQ(place(verdict), "rank 3 on h3");
  EXPECT_EQ(verdict.confidence, params::kStopped);
  EXPECT_THAT(verdict.evidence,
              Contains("it left the communicator: the others make more calls than it"));
  EXPECT_THAT(verdict.action, HasSubstr("make the same calls on all ranks"));
}

}  // namespace
}  // namespace heddle::insight
