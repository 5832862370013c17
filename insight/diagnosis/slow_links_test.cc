// Slow links and NICs: the row and the column of the matrix of delays in exchanges, and links of
// rings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "insight/diagnosis.h"
#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 6;
constexpr uint32_t kCalls = 600;
constexpr uint32_t kOnset = 240;  // call
constexpr uint32_t kSlow = 2;     // rank
constexpr int64_t kMessageNs = 1'000'000;
constexpr uint64_t kBytes = 100'000;

uint32_t connection_to(uint32_t rank) { return rank + 1; }

// All-to-alls: in each round pairs of ranks that add up to it exchange.
class Exchanges {
 public:
  // By which a message takes longer.
  using Slowness = std::function<double(uint32_t from, uint32_t to, uint32_t call)>;

  explicit Exchanges(Slowness slowness) : slowness_(std::move(slowness)), free_(kRanks) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder_.add_process({{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}});
      builder_.add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        builder_.add(rank, events::CommunicatorLinked{{}, kWorld, peer, connection_to(peer)}, 0);
      }
    }
  }

  Diagnosis diagnose() {
    for (uint32_t call = 1; call <= kCalls; ++call) exchange(call);
    return builder_.finish();
  }

 private:
  void exchange(uint32_t call) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) begin(rank, call);
    for (uint32_t round = 0; round < kRanks; ++round) {
      std::vector<int64_t> next = free_;
      for (uint32_t from = 0; from < kRanks; ++from) {
        const uint32_t to = (round + kRanks - from) % kRanks;
        if (to == from) continue;
        const int64_t at =
            std::max(free_[from], free_[to]) +
            static_cast<int64_t>(static_cast<double>(kMessageNs) * slowness_(from, to, call));
        builder_.add(to,
                     events::MessageCompleted{{},
                                              connection_to(from),
                                              2,
                                              call * kRanks + round,
                                              kBytes,
                                              events::Direction::kReceived},
                     at);
        next[from] = std::max(next[from], at);
        next[to] = std::max(next[to], at);
      }
      free_ = next;
    }
    const int64_t ended = *std::max_element(free_.begin(), free_.end());
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder_.add(rank, events::WaitEnded{{}, kWorld, call}, ended);
      builder_.add(rank, events::CallEnded{{}, kWorld, call, true}, ended);
      free_[rank] = ended;
    }
  }
  void begin(uint32_t rank, uint32_t call) {
    free_[rank] += 20'000'000 + (rank * 7 + call * 13) % 11 * 20'000;
    const int64_t at = free_[rank];
    builder_.add(rank,
                 events::CallMade{{},
                                  kWorld,
                                  call,
                                  call,
                                  events::Operation::kAlltoall,
                                  events::ElementType::kFloat,
                                  kBytes / 4,
                                  0,
                                  0},
                 at);
    builder_.add(rank,
                 events::CallStarted{{},
                                     kWorld,
                                     call,
                                     events::Operation::kAlltoall,
                                     events::Algorithm::kPairwise,
                                     2,
                                     2,
                                     24,
                                     128 << 10},
                 at);
    builder_.add(rank, events::WaitBegun{{}, kWorld, call}, at);
  }

  Slowness slowness_;
  DiagnosisBuilder builder_;
  std::vector<int64_t> free_;  // by rank, when its exchange before was over
};

Diagnosis exchanges(Exchanges::Slowness slowness) {
  return Exchanges(std::move(slowness)).diagnose();
}

// The only verdict's place, if it is of slow communication.
std::string slow_place(const Diagnosis& diagnosis) {
  if (diagnosis.verdicts.size() != 1) {
    return std::to_string(diagnosis.verdicts.size()) + " verdicts";
  }
  const Verdict& verdict = diagnosis.verdicts[0];
  if (verdict.what != VerdictClass::kCommunicationSlow) return name_of(verdict.what);
  return place_text(diagnosis, verdict.place);
}

TEST(SlowLinks, ExchangesThatAreAlikeHaveNoVerdict) {
  const Diagnosis diagnosis = exchanges([](uint32_t, uint32_t, uint32_t) { return 1.0; });
  EXPECT_THAT(diagnosis.verdicts, IsEmpty());
  EXPECT_EQ(diagnosis.operations, kCalls);
}

TEST(SlowLinks, ANicThatSendsSlowlyIsARowOfTheMatrix) {
  const Diagnosis diagnosis = exchanges([](uint32_t from, uint32_t, uint32_t call) {
    return from == kSlow && call > kOnset ? 3.0 : 1.0;
  });
  EXPECT_EQ(slow_place(diagnosis), "NIC of h2 (sending)");
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_THAT(diagnosis.verdicts[0].evidence,
              Contains(HasSubstr("data from rank 2 on h2 is late")));
}

TEST(SlowLinks, ANicThatReceivesSlowlyIsAColumn) {
  const Diagnosis diagnosis = exchanges([](uint32_t, uint32_t to, uint32_t call) {
    return to == kSlow && call > kOnset ? 3.0 : 1.0;
  });
  EXPECT_EQ(slow_place(diagnosis), "NIC of h2 (receiving)");
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_THAT(diagnosis.verdicts[0].evidence, Contains(HasSubstr("data to rank 2 on h2 is late")));
}

// About as slow: the other direction is late by at least half as much.
TEST(SlowLinks, ANicThatIsSlowBothWaysIsOneAndOneThatIsMuchSlowerOneWayIsNot) {
  const auto place_of = [](double receives) {
    return slow_place(exchanges([receives](uint32_t from, uint32_t to, uint32_t call) {
      if (call <= kOnset) return 1.0;
      if (from == kSlow) return 4.0;
      return to == kSlow ? receives : 1.0;
    }));
  };
  EXPECT_EQ(place_of(4.0), "NIC of h2");
  EXPECT_EQ(place_of(3.2), "NIC of h2");
  EXPECT_EQ(place_of(1.9), "NIC of h2 (sending)");
}

// The row of a NIC that takes 3 ms where others take 1, in the last 60% of the calls.
TEST(SlowLinks, TheMatrixHasTheDelayOfEachLinkInSecondsACall) {
  const Diagnosis diagnosis = exchanges([](uint32_t from, uint32_t, uint32_t call) {
    return from == kSlow && call > kOnset ? 3.0 : 1.0;
  });
  ASSERT_EQ(diagnosis.delays.size(), 1u);
  const DelayMatrix& matrix = diagnosis.delays[0];
  EXPECT_EQ(matrix.communicator, kWorld);
  EXPECT_EQ(matrix.processes, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(matrix.seconds.size(), kRanks);
  for (uint32_t from = 0; from < kRanks; ++from) {
    for (uint32_t to = 0; to < kRanks; ++to) {
      const double seconds = matrix.seconds[from][to];
      if (from == to) {
        EXPECT_TRUE(std::isnan(seconds)) << from;
      } else {
        EXPECT_NEAR(seconds, from == kSlow ? 0.6 * 2e-3 : 0, 0.05e-3) << from << " to " << to;
      }
    }
  }
}

TEST(SlowLinks, OneSlowLinkOfANicIsNotTheNic) {
  const Diagnosis diagnosis = exchanges([](uint32_t from, uint32_t to, uint32_t call) {
    return from == kSlow && to == 5 && call > kOnset ? 4.0 : 1.0;
  });
  EXPECT_EQ(slow_place(diagnosis), "link from rank 2 on h2 to rank 5 on h5");
}

TEST(SlowLinks, ANicThatSlowsBitByBitDegrades) {
  const Diagnosis diagnosis = exchanges([](uint32_t from, uint32_t, uint32_t call) {
    return from == kSlow && call > kOnset ? 1 + 0.01 * (call - kOnset) : 1.0;
  });
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kDegradation);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "NIC of h2 (sending)");
}

class SlowLinksOfRings : public ::testing::Test {
 protected:
  // The link of rank 1 becomes slower from 8 s on by `by` a second.
  Diagnosis diagnose(const std::function<double(double seconds)>& by) {
    Ring ring{.calls = 1000};
    ring.slowness = [by](uint32_t from, int64_t at) {
      const double seconds = 1e-9 * static_cast<double>(at) - 8;
      return from == 1 && seconds > 0 ? by(seconds) : 1;
    };
    RingJobs jobs(ring.ranks);
    jobs.run(ring);
    return jobs.diagnose();
  }
};

TEST_F(SlowLinksOfRings, ALinkThatSlowsAtOnceIsSlow) {
  EXPECT_EQ(slow_place(diagnose([](double) { return 3; })),
            "link from rank 1 on h1 to rank 2 on h2");
}

TEST_F(SlowLinksOfRings, ALinkThatSlowsBitByBitDegrades) {
  const Diagnosis diagnosis = diagnose([](double seconds) { return 1 + 0.15 * seconds; });
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kDegradation);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place),
            "link from rank 1 on h1 to rank 2 on h2");
  EXPECT_THAT(diagnosis.verdicts[0].evidence, Contains("it became late bit by bit, not at once"));
}

}  // namespace
}  // namespace heddle::insight
