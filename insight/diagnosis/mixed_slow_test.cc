// A rank that is slow at both, computing and communicating: one verdict where one cause explains
// both, two where none does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "insight/confidence.h"
#include "insight/diagnosis.h"
#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStepNs = 26'000'000;  // of a healthy call
constexpr uint32_t kCalls = 1200;        // half a minute
constexpr uint32_t kOnset = 500;         // call
constexpr int64_t kOnsetNs = kOnset * kStepNs;

// By a few percent, another one each time.
int64_t computing(uint32_t rank, uint32_t call) {
  return 20'000'000 + (rank * 7 + call * 13) % 11 * 100'000;
}

class MixedSlowTest : public ::testing::Test {
 protected:
  MixedSlowTest() { ring_.calls = kCalls; }

  void slow_computation(uint32_t slow, uint32_t from_call) {
    ring_.computes = [slow, from_call](uint32_t rank, uint32_t call) {
      return computing(rank, call) * (rank == slow && call >= from_call ? 3 : 2) / 2;
    };
  }
  // All that the rank sends and receives.
  void slow_nic(uint32_t slow, int64_t from_ns) {
    ring_.slowness = [slow, from_ns](uint32_t from, int64_t at) {
      return at >= from_ns && (from == slow || (from + 1) % 4 == slow) ? 3 : 1;
    };
  }
  void slow_link(uint32_t slow, int64_t from_ns) {
    ring_.slowness = [slow, from_ns](uint32_t from, int64_t at) {
      return at >= from_ns && from == slow ? 3 : 1;
    };
  }
  Diagnosis diagnose() {
    RingJobs jobs(4);
    jobs.run(ring_);
    return jobs.diagnose();
  }

  Ring ring_;
};

TEST_F(MixedSlowTest, AHostThatSlowsItsRankAndItsDataIsOneVerdict) {
  slow_computation(2, kOnset);
  slow_nic(2, kOnsetNs);
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kMixedSlow);
  EXPECT_EQ(place_text(diagnosis, verdict.place), "rank 2 on h2");
  EXPECT_EQ(verdict.summary, "rank 2 on h2 computes slowly, and data is late on the NIC of h2");
  EXPECT_NEAR(static_cast<double>(verdict.since_ns), kOnsetNs, 1.5 * kSecond);
  EXPECT_EQ(verdict.until_ns, -1);
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("times as long as the median rank")));
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("data from rank 2 on h2 to rank 3 on h3")));
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("of the time they are both")));
  const auto range = confidence_range(verdict.what, verdict.place.kind);
  ASSERT_TRUE(range);
  EXPECT_GE(verdict.confidence, range->least);
  EXPECT_LE(verdict.confidence, range->most);
}

TEST_F(MixedSlowTest, EachHalfAloneKeepsItsClass) {
  slow_computation(2, kOnset);
  Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationSlow);
  ring_.computes = computing;
  slow_nic(2, kOnsetNs);
  diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationSlow);
}

TEST_F(MixedSlowTest, FaultsOfTwoHostsAreTwoVerdicts) {
  slow_computation(0, kOnset);
  slow_nic(2, kOnsetNs);
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 2u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationSlow);
  EXPECT_EQ(diagnosis.verdicts[1].what, VerdictClass::kCommunicationSlow);
}

// The NIC was slow long before.
TEST_F(MixedSlowTest, FaultsThatBeganApartAreTwoVerdicts) {
  slow_computation(2, kCalls * 2 / 3);
  slow_nic(2, kOnsetNs / 3);
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 2u);
  EXPECT_THAT(diagnosis.not_judged, IsEmpty());
}

// It may be of either host, or of the path between.
TEST_F(MixedSlowTest, ALinkAtTheRankIsOfItsHostOnlyIfBothBeganTogether) {
  slow_computation(2, kOnset);
  slow_link(2, kOnsetNs);
  Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kMixedSlow);
  slow_computation(2, 0);
  slow_link(2, 0);
  diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 2u);
  EXPECT_THAT(diagnosis.not_judged, Contains(HasSubstr("whether one cause at h2 slows rank 2")));
}

}  // namespace
}  // namespace heddle::insight
