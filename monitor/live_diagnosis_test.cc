// Looks at a job that runs: what all its ranks do more slowly is a note, and no alarm.
#include "monitor/live_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

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
    for (uint32_t call = calls_ + 1; call <= last; ++call) {
      const int64_t at = now_ + computes_ns;
      now_ = at + 2 * kMs;
      look_until(now_);
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
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

}  // namespace
}  // namespace heddle::monitor
