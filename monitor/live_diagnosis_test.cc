// Looks at a job that runs: what all its ranks do more slowly is a note, and no alarm.
#include "monitor/live_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/hash.h"

namespace heddle::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 4;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLookNs = 1'000 * kMs;

// Steps of five calls of unequal counts. All ranks compute, call, and wait 2 ms for the transfer.
class LiveDiagnosisTest : public ::testing::Test {
 protected:
  LiveDiagnosisTest() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      diagnosis_.builder().add_process(
          {{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}},
          {.closed = false});
      add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
    }
  }

  // Up to this call, with looks each second.
  void run_until(uint32_t last, int64_t computes_ns) {
    run_until(last, [computes_ns](uint32_t, uint32_t) { return computes_ns; });
  }
  void run_until(uint32_t last, const std::function<int64_t(uint32_t, uint32_t)>& computes_ns) {
    for (uint32_t call = calls_ + 1; call <= last; ++call) {
      std::array<int64_t, kRanks> made{};
      for (uint32_t rank = 0; rank < kRanks; ++rank) made[rank] = now_ + computes_ns(rank, call);
      now_ = *std::max_element(made.begin(), made.end()) + 2 * kMs;
      look_until(now_);
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const int64_t at = made[rank];
        add(rank,
            events::CallMade{{},
                             kWorld,
                             call,
                             call,
                             events::Operation::kAllreduce,
                             events::ElementType::kFloat,
                             100 + call % 5,
                             0,
                             0},
            at);
        add(rank, events::WaitBegun{{}, kWorld, call}, at);
        add(rank, events::WaitEnded{{}, kWorld, call}, now_);
        add(rank, events::CallEnded{{}, kWorld, call, true}, now_);
      }
    }
    calls_ = last;
  }

  LiveDiagnosis diagnosis_;
  size_t alarms_ = 0;  // that began or ended

 private:
  void add(uint32_t rank, const events::AnyEvent& event, int64_t at) {
    diagnosis_.builder().add(rank, event, at);
  }
  void look_until(int64_t at) {
    for (; look_ns_ <= at; look_ns_ += kLookNs) alarms_ += diagnosis_.look(look_ns_).size();
  }

  int64_t now_ = 0;
  uint32_t calls_ = 0;
  int64_t look_ns_ = kLookNs;  // the next
};

TEST_F(LiveDiagnosisTest, StepsThatAllRanksTakeLongerForAreNotedWhileTheJobRuns) {
  run_until(600, 20 * kMs);  // 13 s, with a look at the whole job after 11
  EXPECT_THAT(diagnosis_.notes(), IsEmpty());
  run_until(1'200, 34 * kMs);
  EXPECT_THAT(diagnosis_.notes(), ElementsAre(HasSubstr("take 1.64 times as long since 13.")));
  EXPECT_EQ(alarms_, 0u) << "it is no fault";
}

// The look at the whole job finds the same with other figures.
TEST_F(LiveDiagnosisTest, WorkThatIsNewWithEachStepIsNotedOnce) {
  run_until(600, [](uint32_t rank, uint32_t call) {
    const uint64_t drawn = mix_bits((call - 1) / 5 * uint64_t{64} + rank + 1) >> 11;
    return 10 * kMs + static_cast<int64_t>(20e6 * static_cast<double>(drawn) * 0x1p-53);
  });
  EXPECT_THAT(diagnosis_.notes(), ElementsAre(HasSubstr("differs from step to step")));
  EXPECT_EQ(alarms_, 0u) << "it is no fault";
}

// All steps are longer since then. Of the whole job the fault is a part too short for a verdict.
TEST_F(LiveDiagnosisTest, StepsThatARankTakesLongerForAreNotNotedWhileItsAlarmLasts) {
  run_until(6'000, 20 * kMs);  // 132 s, of which a hundredth is a block
  EXPECT_THAT(diagnosis_.notes(), IsEmpty());
  run_until(6'400, [](uint32_t rank, uint32_t) { return (rank == 2 ? 40 : 20) * kMs; });
  EXPECT_EQ(alarms_, 1u) << "rank 2's";
  EXPECT_THAT(diagnosis_.notes(), IsEmpty());
}

}  // namespace
}  // namespace heddle::monitor
