// Links that are late together and share no host: flows that collide in the fabric, or a link of it
// that is slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "insight/confidence.h"
#include "insight/diagnosis.h"
#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kOnsetNs = 10'000 * kMs;

// By a few percent, another one each time.
int64_t computing(uint32_t rank, uint32_t call) {
  return 20 * kMs + (rank * 7 + call * 13) % 11 * kMs / 10;
}

// Whether a neighbor sends: in turns of 0.4 s, in one of `turns`.
bool sends(uint64_t neighbor, int64_t at, uint64_t turns = 2) {
  return at >= kOnsetNs &&
         mix_bits(mix_bits(neighbor) + static_cast<uint64_t>(at / (400 * kMs))) % turns == 1;
}

// Links 0 to 1 and 2 to 3 meet, as where the even hosts are below one leaf.
class CollisionsTest : public ::testing::Test {
 protected:
  CollisionsTest() {
    ring_.calls = 1500;
    ring_.computes = computing;
  }

  // Both wait for one neighbor.
  void meet() {
    ring_.slowness = [](uint32_t from, int64_t at) {
      return from % 2 == 0 && sends(1, at) ? 3.0 : 1.0;
    };
  }
  void stay() {
    ring_.slowness = [](uint32_t from, int64_t at) {
      return from % 2 == 0 && at >= kOnsetNs ? 3.0 : 1.0;
    };
  }
  // By way of a spine; those back by another one. All hosts of a leaf are next to one router.
  static void trace(RingJobs& jobs, uint64_t spine_back) {
    constexpr uint64_t kLeaf = 0xffff0a010000;  // 10.1.0.0 and 10.1.0.1
    constexpr uint64_t kSpine = 0xffff0a020000;
    for (uint32_t from = 0; from < 4; ++from) {
      const uint64_t spine = kSpine + (from % 2 == 0 ? 1 : spine_back);
      for (uint16_t path = 0; path < 2; ++path) {
        jobs.trace(from, (from + 1) % 4, path, {kLeaf + from % 2, spine, kLeaf + 1 - from % 2});
      }
    }
  }
  Diagnosis diagnose() {
    RingJobs jobs(4);
    jobs.run(ring_);
    return jobs.diagnose();
  }

  Ring ring_;
};

TEST_F(CollisionsTest, LinksThatAreLateTogetherAgainAndAgainCollide) {
  meet();
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kFabricCollision);
  EXPECT_EQ(verdict.place.kind, PlaceKind::kGroup);
  EXPECT_EQ(verdict.place.processes, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(verdict.summary, "flows collide in the fabric between 4 ranks");
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("they became late together")));
  const auto range = confidence_range(verdict.what, verdict.place.kind);
  ASSERT_TRUE(range);
  EXPECT_GE(verdict.confidence, range->least);
  EXPECT_LE(verdict.confidence, range->most);
  EXPECT_THAT(diagnosis.not_judged, IsEmpty());
}

TEST_F(CollisionsTest, TheLinkThatTheirPathsShareIsNamed) {
  meet();
  RingJobs jobs(4);
  jobs.run(ring_);
  trace(jobs, 1);
  const Diagnosis diagnosis = jobs.diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place),
            "route by 10.1.0.0, 10.2.0.1, 10.1.0.1")
      << "the other direction passes the same routers";
  EXPECT_THAT(
      diagnosis.verdicts[0].evidence,
      Contains("all of them pass the routers 10.1.0.0, 10.2.0.1, 10.1.0.1; of 2 other links "
               "whose routers are known 0 do"));
}

// The stretch in which they are late most is one turn: in it they are late all the time.
TEST_F(CollisionsTest, LinksThatAreLateTogetherInLongTurnsCollide) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    return from % 2 == 0 && at >= kOnsetNs && at / (4'000 * kMs) % 2 == 0 ? 3.0 : 1.0;
  };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kFabricCollision);
}

// A call of 6 to 14 ms has some of the turns in which the neighbor sends: its delay says how many.
TEST_F(CollisionsTest, LinksThatAreLateByMoreAndLessTogetherCollide) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    const bool sends = at >= kOnsetNs && mix_bits(static_cast<uint64_t>(at / (4 * kMs))) % 2 == 0;
    return from % 2 == 0 && sends ? 3.0 : 1.0;
  };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kFabricCollision);
}

// One late in five turns of eight stands out. The other one has three of them, in too few blocks
// to stand out: alone it gives no verdict.
TEST_F(CollisionsTest, ALinkThatDoesNotStandOutIsSeenByTheOneThatItIsLateWith) {
  const auto late = [](uint32_t from, int64_t at, uint64_t turns) {
    const uint64_t turn = mix_bits(static_cast<uint64_t>(at / (400 * kMs))) % 8;
    return at >= kOnsetNs && turn < turns && from % 2 == 0 ? 3.0 : 1.0;
  };
  ring_.slowness = [late](uint32_t from, int64_t at) { return from == 2 ? late(2, at, 3) : 1.0; };
  ASSERT_THAT(diagnose().verdicts, IsEmpty());
  ring_.slowness = [late](uint32_t from, int64_t at) { return late(from, at, from == 0 ? 5 : 3); };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kFabricCollision);
  EXPECT_EQ(diagnosis.verdicts[0].place.processes, (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST_F(CollisionsTest, LinksThatAreLateTogetherNowAndThenAreFoundThoughNoneStandsOut) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    return from % 2 == 0 && sends(1, at, 4) ? 3.0 : 1.0;
  };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kFabricCollision);
  EXPECT_EQ(verdict.place.processes, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_GE(verdict.since_ns, kOnsetNs);
  const auto range = confidence_range(verdict.what, verdict.place.kind);
  ASSERT_TRUE(range);
  EXPECT_GE(verdict.confidence, range->least);
}

TEST_F(CollisionsTest, LinksThatAreLateNowAndThenAtDifferentTimesAreNoFault) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    return from % 2 == 0 && sends(from, at, 4) ? 3.0 : 1.0;
  };
  EXPECT_THAT(diagnose().verdicts, IsEmpty());
}

// Where another link is late now and then, all operations are longer: both links' shares of them
// become less at once.
TEST_F(CollisionsTest, LinksThatStayLateDoNotCollideWhereAnotherLinkComesAndGoes) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    if (at < kOnsetNs || from == 3) return 1.0;
    if (from == 1) return sends(1, at, 3) ? 12.0 : 1.0;
    return 2.0;
  };
  for (const Verdict& each : diagnose().verdicts) {
    EXPECT_EQ(each.what, VerdictClass::kCommunicationSlow);
  }
}

// A slow link is so each time.
TEST_F(CollisionsTest, LinksThatStayLateAreNotKnownToCollide) {
  stay();
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationSlow);
  EXPECT_THAT(diagnosis.not_judged, Contains(HasSubstr("whether flows collide")));
}

TEST_F(CollisionsTest, TheLinkThatThePathsOfLinksThatStayLateShareIsSlow) {
  stay();
  RingJobs jobs(4);
  jobs.run(ring_);
  trace(jobs, 2);
  const Diagnosis diagnosis = jobs.diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kCommunicationSlow);
  EXPECT_EQ(place_text(diagnosis, verdict.place), "route by 10.1.0.0, 10.2.0.1, 10.1.0.1");
  EXPECT_EQ(verdict.summary, "data is late on the route by 10.1.0.0, 10.2.0.1, 10.1.0.1");
  EXPECT_THAT(verdict.action, HasSubstr("the ports between these routers"));
  const auto range = confidence_range(verdict.what, verdict.place.kind);
  ASSERT_TRUE(range);
  EXPECT_GE(verdict.confidence, range->least);
  EXPECT_LE(verdict.confidence, range->most);
}

// All links pass the same routers, so that these show nothing.
TEST_F(CollisionsTest, RoutersThatAllLinksPassAreNoPlaceOfLateLinks) {
  stay();
  RingJobs jobs(4);
  jobs.run(ring_);
  for (uint32_t from = 0; from < 4; ++from) jobs.trace(from, (from + 1) % 4, 0, {1, 2, 3});
  const Diagnosis diagnosis = jobs.diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].place.kind, PlaceKind::kLink);
}

// Each has a neighbor of its own.
TEST_F(CollisionsTest, LinksThatAreLateAtDifferentTimesDoNotCollide) {
  ring_.slowness = [](uint32_t from, int64_t at) {
    return from % 2 == 0 && sends(from, at) ? 3.0 : 1.0;
  };
  for (const Verdict& each : diagnose().verdicts) {
    EXPECT_EQ(each.what, VerdictClass::kCommunicationSlow);
  }
}

// Every other call is so short that its delays do not count.
TEST_F(CollisionsTest, ASlowLinkThatShortCallsDoNotShowIsNoCollision) {
  stay();
  ring_.count = [](uint32_t call) { return uint64_t{call % 2 == 0 ? 100u : 1u}; };
  ring_.message_of = [](uint32_t call) { return call % 2 == 0 ? kMs : 10'000; };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationSlow);
}

// All that is late is at host 1: its NIC.
TEST_F(CollisionsTest, LinksOfOneHostThatComeAndGoAreItsNics) {
  ring_.slowness = [](uint32_t from, int64_t at) { return from <= 1 && sends(1, at) ? 3.0 : 1.0; };
  const Diagnosis diagnosis = diagnose();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationSlow);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "NIC of h1");
}

// Two communicators on eight hosts; the second one sends for seconds, and rests as long. A link of
// the first is late only then.
class CollisionsOfTwoTest : public CollisionsTest {
 protected:
  using Times = std::vector<std::pair<int64_t, int64_t>>;

  CollisionsOfTwoTest() {
    other_.communicator = 10;
    other_.first_process = 4;
    other_.calls = 30;
    other_.message_ns = 200 * kMs;
    other_.computes = [](uint32_t rank, uint32_t call) {
      return 800 * kMs + computing(rank, call);
    };
    other_.slowness = [](uint32_t from, int64_t) { return from == 1 ? 3.0 : 1.0; };
    busy_ = jobs_.run(other_);
  }

  bool is_busy(int64_t at) const {
    return std::any_of(busy_.begin(), busy_.end(),
                       [at](const auto& each) { return each.first <= at && at < each.second; });
  }
  Diagnosis diagnose_both() {
    ring_.calls = 3200;  // as long as the other lasts
    jobs_.run(ring_);
    return jobs_.diagnose();
  }

  RingJobs jobs_{8};
  Ring other_;
  Times busy_;
};

TEST_F(CollisionsOfTwoTest, ALinkThatIsLateOnlyWhileTheOthersIsBusyCollidesWithIt) {
  ring_.slowness = [this](uint32_t from, int64_t at) {
    return from == 2 && is_busy(at) ? 5.0 : 1.0;
  };
  const Diagnosis diagnosis = diagnose_both();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kFabricCollision);
  EXPECT_EQ(diagnosis.verdicts[0].place.processes, (std::vector<uint32_t>{2, 3, 5, 6}));
  EXPECT_THAT(diagnosis.verdicts[0].evidence, Contains(HasSubstr("beside the other")));
}

TEST_F(CollisionsOfTwoTest, LinksThatAreLateAtAllTimesAreTwoFaults) {
  ring_.slowness = [](uint32_t from, int64_t) { return from == 2 ? 5.0 : 1.0; };
  const Diagnosis diagnosis = diagnose_both();
  ASSERT_EQ(diagnosis.verdicts.size(), 2u);
  for (const Verdict& each : diagnosis.verdicts) {
    EXPECT_EQ(each.what, VerdictClass::kCommunicationSlow);
  }
}

}  // namespace
}  // namespace heddle::insight
