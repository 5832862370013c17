// Verdicts become alarms that are raised once and are over once.
#include "monitor/alarms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "monitor/params.h"

namespace heddle::monitor {
namespace {

using insight::Diagnosis;
using insight::PlaceKind;
using insight::VerdictClass;

constexpr int64_t kS = 1'000'000'000;

Diagnosis found(VerdictClass what, uint32_t rank, int64_t since_ns = kS) {
  Diagnosis diagnosis;
  for (uint32_t i = 0; i < 4; ++i) {
    diagnosis.parties.push_back({std::to_string(i), "h" + std::to_string(i), i});
  }
  insight::Verdict verdict;
  verdict.what = what;
  verdict.place = {PlaceKind::kRank, {rank}, "h" + std::to_string(rank)};
  verdict.since_ns = since_ns;
  diagnosis.verdicts.push_back(verdict);
  return diagnosis;
}

// Changes of `count` looks, a second each from `from_s` on.
std::vector<AlarmChange> look(Alarms& alarms, const Diagnosis& diagnosis, int from_s, int count) {
  std::vector<AlarmChange> changes;
  for (int i = 0; i < count; ++i) {
    for (AlarmChange& each : alarms.look({{&diagnosis}}, (from_s + i) * kS)) {
      changes.push_back(std::move(each));
    }
  }
  return changes;
}

TEST(AlarmsTest, AFaultIsRaisedOnceAndIsOverOnce) {
  Alarms alarms;
  const Diagnosis slow = found(VerdictClass::kNonCommunicationSlow, 2);
  EXPECT_TRUE(look(alarms, slow, 1, params::kLooksToRaiseSlow - 1).empty());
  const auto raised = look(alarms, slow, 10, 50);
  ASSERT_EQ(raised.size(), 1u);
  EXPECT_TRUE(raised[0].raised);
  EXPECT_EQ(raised[0].alarm.place, "rank 2 on h2");
  EXPECT_EQ(raised[0].alarm.ranks, std::vector<std::string>{"2"});
  ASSERT_EQ(alarms.lasting().size(), 1u);
  EXPECT_TRUE(look(alarms, {}, 100, params::kLooksToClear - 1).empty());
  EXPECT_TRUE(look(alarms, slow, 200, 1).empty());  // it was there all the time
  const auto cleared = look(alarms, {}, 300, 50);
  ASSERT_EQ(cleared.size(), 1u);
  EXPECT_FALSE(cleared[0].raised);
  EXPECT_EQ(cleared[0].alarm.number, 1u);
  EXPECT_EQ(cleared[0].alarm.cleared_ns, (300 + params::kLooksToClear - 1) * kS);
  EXPECT_TRUE(alarms.lasting().empty());
  EXPECT_EQ(alarms.past().size(), 1u);
}

TEST(AlarmsTest, AVerdictOfEverySecondLookRaisesNoAlarm) {
  Alarms alarms;
  for (int i = 0; i < 100; ++i) {
    const Diagnosis seen = i % 2 == 0 ? found(VerdictClass::kNonCommunicationSlow, 1) : Diagnosis();
    EXPECT_TRUE(alarms.look({{&seen}}, i * kS).empty());
  }
  EXPECT_EQ(alarms.raised(), 0u);
}

TEST(AlarmsTest, SlownessThatIsSureIsRaisedByTwoLooksAndNotByOne) {
  Alarms alarms;
  Diagnosis sure = found(VerdictClass::kCommunicationSlow, 1);
  sure.verdicts[0].confidence = params::kSure;
  EXPECT_TRUE(alarms.look({{&sure, true, params::kWeightOfWhole}}, kS).empty());
  EXPECT_EQ(alarms.look({{&sure}}, 2 * kS).size(), 1u);
}

TEST(AlarmsTest, AnOlderLookKeepsAnAlarmAndConfirmsNone) {
  Alarms alarms;
  const Diagnosis slow = found(VerdictClass::kNonCommunicationSlow, 1);
  const Diagnosis nothing;
  EXPECT_TRUE(alarms.look({{&nothing}, {&slow, true}}, kS).empty());
  for (int i = 2; i < 11; ++i) {
    EXPECT_TRUE(alarms.look({{&nothing}, {&slow, false}}, i * kS).empty());
  }
  EXPECT_EQ(alarms.look({{&nothing}, {&slow, true, params::kLooksToRaiseSlow - 1}}, 11 * kS).size(),
            1u);
  for (int i = 12; i < 30; ++i) {
    EXPECT_TRUE(alarms.look({{&nothing}, {&slow, false}}, i * kS).empty());
  }
}

TEST(AlarmsTest, AFaultThatChangesItsClassStaysOneAlarmSinceItsBeginning) {
  Alarms alarms;
  look(alarms, found(VerdictClass::kDegradation, 1, 5 * kS), 5, 10);
  EXPECT_TRUE(look(alarms, found(VerdictClass::kNonCommunicationSlow, 1, 9 * kS), 15, 5).empty());
  ASSERT_EQ(alarms.lasting().size(), 1u);
  EXPECT_EQ(alarms.lasting()[0].verdict.what, VerdictClass::kNonCommunicationSlow);
  EXPECT_EQ(alarms.lasting()[0].verdict.since_ns, 5 * kS);
  EXPECT_EQ(
      look(alarms, found(VerdictClass::kNonCommunicationHang, 1), 20, params::kLooksToRaise).size(),
      1u);
}

TEST(AlarmsTest, AVerdictThatHasEndedIsNone) {
  Alarms alarms;
  Diagnosis over = found(VerdictClass::kNonCommunicationSlow, 1);
  over.verdicts[0].until_ns = 9 * kS;
  EXPECT_TRUE(look(alarms, over, 10, 10).empty());
}

TEST(AlarmsTest, ManyThatAreOverAreNotAllKept) {
  Alarms alarms;
  const Diagnosis slow = found(VerdictClass::kNonCommunicationSlow, 1);
  for (int i = 0; i < 300; ++i) {
    look(alarms, slow, 20 * i, params::kLooksToRaiseSlow);
    look(alarms, {}, 20 * i + 10, params::kLooksToClear);
  }
  EXPECT_EQ(alarms.raised(), 300u);
  EXPECT_EQ(alarms.past().size(), params::kMostPast);
  EXPECT_EQ(alarms.past().back().number, 300u);
}

}  // namespace
}  // namespace heddle::monitor
