// Paths that fail together: the routers, the NIC or the ranks that they have in common are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "insight/diagnosis.h"
#include "insight/diagnosis/params.h"
#include "insight/diagnosis/path_outages.h"

namespace heddle::insight {
namespace {

using events::RecoveryStep;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 4;
constexpr uint16_t kPaths = 8;
constexpr uint32_t kSpines = 4;
constexpr int64_t kSecond = 1'000'000'000;

// A ring of four hosts, two under each leaf. A path between the leaves passes spine (path modulo
// 4).
class PathFaultsTest : public ::testing::Test {
 protected:
  PathFaultsTest() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder_.add_process({{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}});
      builder_.add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
      for (const uint32_t peer : {(rank + 1) % kRanks, (rank + kRanks - 1) % kRanks}) {
        builder_.add(rank, events::CommunicatorLinked{{}, kWorld, peer, to(peer)}, 0);
      }
    }
  }

  static uint32_t to(uint32_t peer) { return 10 + peer; }  // a connection's id
  static uint32_t leaf_of(uint32_t rank) { return rank / 2; }

  // What discovery reports.
  void trace_all() {
    for_each_path([this](uint32_t rank, uint32_t peer, uint16_t path) {
      std::vector<uint64_t> route = {leaf_address(leaf_of(rank))};
      if (leaf_of(rank) != leaf_of(peer)) {
        route.push_back(spine_address(path % kSpines));
        route.push_back(leaf_address(leaf_of(peer)));
      }
      for (uint8_t hop = 1; hop <= route.size(); ++hop) {
        builder_.add(rank, events::PathTraced{{}, to(peer), path, hop, 3, 0, route[hop - 1]}, 1);
      }
    });
  }
  static uint64_t leaf_address(uint32_t leaf) { return 0xffff0a010000 + leaf; }     // 10.1.0.x
  static uint64_t spine_address(uint32_t spine) { return 0xffff0a020000 + spine; }  // 10.2.0.x

  using Which = std::function<bool(uint32_t rank, uint32_t peer, uint16_t path)>;
  void for_each_path(const std::function<void(uint32_t, uint32_t, uint16_t)>& use) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      for (const uint32_t peer : {(rank + 1) % kRanks, (rank + kRanks - 1) % kRanks}) {
        for (uint16_t path = 0; path < kPaths; ++path) use(rank, peer, path);
      }
    }
  }
  void step(const Which& which, RecoveryStep what, int64_t at) {
    for_each_path([&](uint32_t rank, uint32_t peer, uint16_t path) {
      if (which(rank, peer, path)) {
        builder_.add(rank, events::Recovery{{}, to(peer), path, what}, at);
      }
    });
  }
  void fail(const Which& which, int64_t at) { step(which, RecoveryStep::kPathSetAside, at); }
  // Messages that other paths of the same connections carry.
  void deliver(const Which& which, int64_t at) {
    for_each_path([&](uint32_t rank, uint32_t peer, uint16_t path) {
      if (!which(rank, peer, path)) return;
      builder_.add(rank, events::MessageCompleted{.connection = to(peer), .bytes = 1}, at);
    });
  }
  void mend(const Which& which, int64_t at) { step(which, RecoveryStep::kPathReturned, at); }
  // Fails for 3 s, `times` times, each 20 s.
  void flap(const Which& which, int times, bool silent = false) {
    for (int i = 0; i < times; ++i) {
      fail(which, (10 + 20 * i) * kSecond);
      if (!silent) deliver(which, (11 + 20 * i) * kSecond);
      mend(which, (13 + 20 * i) * kSecond);
      deliver(which, (14 + 20 * i) * kSecond);
    }
  }
  std::vector<Verdict> verdicts_at(int64_t at) { return diagnosis_at(at).verdicts; }
  Diagnosis diagnosis_at(int64_t at) { return builder_.diagnose(INT64_MIN, at); }

  static bool by_spine_2(uint32_t rank, uint32_t peer, uint16_t path) {
    return leaf_of(rank) != leaf_of(peer) && path % kSpines == 2;
  }
  static bool at_host_1(uint32_t rank, uint32_t peer, uint16_t /*path*/) {
    return rank == 1 || peer == 1;
  }
  static bool between_0_and_1(uint32_t rank, uint32_t peer, uint16_t /*path*/) {
    return rank + peer == 1;
  }

  DiagnosisBuilder builder_;
};

TEST_F(PathFaultsTest, ASpineWhosePathsFailAgainAndAgainIsNamedByItsRouter) {
  trace_all();
  flap(by_spine_2, 4);
  const Diagnosis diagnosis = diagnosis_at(80 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kFlapping);
  EXPECT_EQ(place_text(diagnosis, verdict.place), "route by 10.2.0.2");
  EXPECT_EQ(verdict.since_ns, 10 * kSecond);
  EXPECT_EQ(verdict.until_ns, -1) << "it will fail again";
  EXPECT_THAT(verdict.summary, HasSubstr("4 times"));
  ASSERT_EQ(verdict.evidence.size(), 4u);
  EXPECT_EQ(verdict.evidence[0], "at 10.000 s 8 paths for 3.000 s");
}

TEST_F(PathFaultsTest, AFaultThatIsOverHasAnEnd) {
  trace_all();
  flap(by_spine_2, 3);
  EXPECT_EQ(verdicts_at(70 * kSecond).at(0).until_ns, -1);
  EXPECT_EQ(verdicts_at(300 * kSecond).at(0).until_ns, 53 * kSecond);
}

TEST_F(PathFaultsTest, TwoOutagesAreNoFlapping) {
  trace_all();
  flap(by_spine_2, 2);
  EXPECT_THAT(verdicts_at(60 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, AWayThatStaysDownIsAPathFailure) {
  trace_all();
  fail(by_spine_2, 10 * kSecond);
  EXPECT_THAT(verdicts_at(19 * kSecond), IsEmpty()) << "it may return";
  const Diagnosis diagnosis = diagnosis_at(21 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kPathFailure);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "route by 10.2.0.2");
  mend(by_spine_2, 22 * kSecond);
  EXPECT_THAT(verdicts_at(40 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, OnePathThatStaysSetAsideIsNoPathFailure) {
  trace_all();
  fail([](uint32_t rank, uint32_t peer,
          uint16_t path) { return rank == 1 && peer == 2 && path == 6; },
       10 * kSecond);
  EXPECT_THAT(verdicts_at(60 * kSecond), IsEmpty());
}

// Where the fabric is busy, paths are declared failed that were only late.
TEST_F(PathFaultsTest, LatePathsBesideAFlappingSpineDoNotHideIt) {
  trace_all();
  const auto late = [](uint32_t rank, uint32_t, uint16_t path) { return rank == 2 && path == 1; };
  for (int i = 0; i < 4; ++i) {
    fail(by_spine_2, (10 + 20 * i) * kSecond);
    fail(late, (10 + 20 * i) * kSecond);
    mend(late, (10 + 20 * i) * kSecond + 40'000'000);
    mend(by_spine_2, (13 + 20 * i) * kSecond);
  }
  const Diagnosis diagnosis = diagnosis_at(80 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "route by 10.2.0.2");
}

TEST_F(PathFaultsTest, WithoutRoutesTheNicThatAllFailedPathsShareIsNamed) {
  flap(at_host_1, 3, true);
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kFlapping);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "NIC of h1");
}

// All paths of h1 pass its leaf, also those that work again: a router that no path avoids explains
// nothing.
TEST_F(PathFaultsTest, ANicIsNotTakenForTheLeafThatAllItsPathsPass) {
  trace_all();
  flap(at_host_1, 3, true);
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "NIC of h1");
}

TEST_F(PathFaultsTest, PathsBetweenTwoRanksAreALink) {
  flap(between_0_and_1, 3, true);
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place),
            "link from rank 0 on h0 to rank 1 on h1");
}

// Discovery looks again while the paths are down: their spine does not answer, or the switches have
// taken another.
TEST_F(PathFaultsTest, RoutesCountAsTheyWereWhenThePathsFailed) {
  trace_all();
  for (int i = 0; i < 3; ++i) {
    fail(by_spine_2, (10 + 20 * i) * kSecond);
    for_each_path([this](uint32_t rank, uint32_t peer, uint16_t path) {
      if (!by_spine_2(rank, peer, path)) return;
      const uint64_t other = path < kSpines ? 0 : spine_address(1);
      builder_.add(rank, events::PathTraced{{}, to(peer), path, 2, 3, 0, other}, 11 * kSecond);
    });
    mend(by_spine_2, (13 + 20 * i) * kSecond);
    trace_all();
  }
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "route by 10.2.0.2");
}

TEST_F(PathFaultsTest, ASilentFabricWithoutRoutesIsNamedByTheRanksAtItsPaths) {
  const auto between_leaves = [](uint32_t rank, uint32_t peer, uint16_t /*path*/) {
    return leaf_of(rank) != leaf_of(peer);
  };
  flap(between_leaves, 3, true);
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].place.kind, PlaceKind::kGroup);
  EXPECT_EQ(diagnosis.verdicts[0].place.processes, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(diagnosis.verdicts[0].summary,
            "the fabric between 4 ranks fails and comes back: 3 times");
  EXPECT_THAT(diagnosis.verdicts[0].action, HasSubstr("discovery = auto"));
}

// Half of the paths are late for longer than a moment: the link that they share is crowded, and
// where it is cannot be known. All ranks of an exchange were accused over a slow link.
TEST_F(PathFaultsTest, WithoutRoutesPathsThatFailBesideOthersThatWorkAreNoVerdict) {
  flap(by_spine_2, 4);
  EXPECT_THAT(verdicts_at(80 * kSecond), IsEmpty());
}

// A switch answers with the address of the port where the packet came in.
TEST_F(PathFaultsTest, ASpineWithAnAddressOnEachPortIsNamedByThem) {
  for_each_path([this](uint32_t rank, uint32_t peer, uint16_t path) {
    if (leaf_of(rank) == leaf_of(peer)) return;
    const uint64_t port = leaf_of(rank) * 16;
    const uint64_t route[] = {leaf_address(leaf_of(rank)), spine_address(path % kSpines) + port,
                              leaf_address(leaf_of(peer)) + (path % kSpines + 1) * 16};
    for (uint8_t hop = 1; hop <= 3; ++hop) {
      builder_.add(rank, events::PathTraced{{}, to(peer), path, hop, 3, 0, route[hop - 1]}, 1);
    }
  });
  flap(by_spine_2, 3);
  const Diagnosis diagnosis = diagnosis_at(60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_THAT(place_text(diagnosis, diagnosis.verdicts[0].place), HasSubstr("10.2.0.2"));
  EXPECT_THAT(place_text(diagnosis, diagnosis.verdicts[0].place), HasSubstr("10.2.0.18"));
}

// Of two core switches in a row the routers came in the order of who noticed first: two places.
TEST_F(PathFaultsTest, OneFaultIsOnePlaceWhoeverNoticesItFirst) {
  trace_all();
  for (int i = 0; i < 4; ++i) {
    const int64_t at = (10 + 20 * i) * kSecond;
    const auto of_leaf = [i](uint32_t first) {
      return [=](uint32_t rank, uint32_t peer, uint16_t path) {
        return by_spine_2(rank, peer, path) && (leaf_of(rank) == 0) == ((first + i) % 2 == 0);
      };
    };
    fail(of_leaf(0), at);
    fail(of_leaf(1), at + 1'000'000);
    mend(by_spine_2, at + 3 * kSecond);
  }
  const Diagnosis diagnosis = diagnosis_at(80 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_THAT(diagnosis.verdicts[0].summary, HasSubstr("4 times"));
}

// Stopped for 1.5 s, four times: its peers' paths to it failed, its own did not.
TEST_F(PathFaultsTest, AProcessThatStandsStillIsNoFaultOfItsNic) {
  const auto to_rank_1 = [](uint32_t, uint32_t peer, uint16_t) { return peer == 1; };
  flap(to_rank_1, 4, true);
  EXPECT_THAT(verdicts_at(80 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, WithoutRecordedMessagesANicIsNotAccused) {
  for (int i = 0; i < 3; ++i) {
    fail(at_host_1, (10 + 20 * i) * kSecond);
    mend(at_host_1, (13 + 20 * i) * kSecond);
  }
  EXPECT_THAT(verdicts_at(60 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, OutagesOfAConnectionThatWasClosedAreOver) {
  trace_all();
  fail(by_spine_2, 10 * kSecond);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    for (const uint32_t peer : {(rank + 1) % kRanks, (rank + kRanks - 1) % kRanks}) {
      builder_.add(rank, events::ConnectionClosed{{}, to(peer), events::CloseCause::kGraceful},
                   11 * kSecond);
    }
  }
  EXPECT_THAT(verdicts_at(3600 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, OutagesHoursApartAreNoFlapping) {
  trace_all();
  for (int i = 0; i < 3; ++i) {
    fail(by_spine_2, (10 + 14'400 * i) * kSecond);
    mend(by_spine_2, (12 + 14'400 * i) * kSecond);
  }
  EXPECT_THAT(verdicts_at(30'000 * kSecond), IsEmpty());
}

TEST_F(PathFaultsTest, FlapsBeforeTheTimeThatIsAskedForAreNotReported) {
  trace_all();
  flap(by_spine_2, 3);
  EXPECT_THAT(builder_.diagnose(500 * kSecond, 600 * kSecond).verdicts, IsEmpty());
}

// One path of an incident is never used again.
TEST_F(PathFaultsTest, APathThatStaysBehindDoesNotHideAFlap) {
  trace_all();
  const auto but_one = [](uint32_t rank, uint32_t peer, uint16_t path) {
    return by_spine_2(rank, peer, path) && !(rank == 1 && path == 6);
  };
  fail(by_spine_2, 10 * kSecond);
  mend(but_one, 13 * kSecond);
  for (int i = 1; i < 3; ++i) {
    fail(but_one, (10 + 20 * i) * kSecond);
    mend(but_one, (13 + 20 * i) * kSecond);
  }
  EXPECT_EQ(verdicts_at(60 * kSecond).size(), 1u);
}

// Each router was counted anew for each route that has it: 256 ranks took minutes.
TEST_F(PathFaultsTest, ManyPathsThatFailTogetherAreJudgedInTheirNumber) {
  DiagnosisBuilder builder;
  constexpr uint32_t kMany = 200;
  for (uint32_t rank = 0; rank < kMany; ++rank) {
    builder.add_process({{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}});
    builder.add(rank, events::CommunicatorMade{{}, kWorld, rank, kMany}, 0);
    builder.add(rank, events::CommunicatorLinked{{}, kWorld, (rank + 1) % kMany, 1}, 0);
  }
  for (uint32_t rank = 0; rank < kMany; ++rank) {
    for (uint16_t path = 0; path < 256; ++path) {
      const uint64_t route[] = {leaf_address(rank), spine_address(path % kSpines),
                                leaf_address((rank + 1) % kMany)};
      for (uint8_t hop = 1; hop <= 3; ++hop) {
        builder.add(rank, events::PathTraced{{}, 1, path, hop, 3, 0, route[hop - 1]}, 1);
      }
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (const RecoveryStep step : {RecoveryStep::kPathSetAside, RecoveryStep::kPathReturned}) {
      const int64_t at = (10 + 20 * i + (step == RecoveryStep::kPathReturned ? 3 : 0)) * kSecond;
      for (uint32_t rank = 0; rank < kMany; ++rank) {
        for (uint16_t path = 2; path < 256; path += 4) {
          builder.add(rank, events::Recovery{{}, 1, path, step}, at);
        }
      }
    }
  }
  const Diagnosis diagnosis = builder.diagnose(INT64_MIN, 60 * kSecond);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "route by 10.2.0.2");
}

TEST_F(PathFaultsTest, ARouterThatDoesNotAnswerIsNotNamed) {
  for_each_path([this](uint32_t rank, uint32_t peer, uint16_t path) {
    builder_.add(rank, events::PathTraced{{}, to(peer), path, 1, 2, 0, leaf_address(0)}, 1);
    builder_.add(rank, events::PathTraced{{}, to(peer), path, 2, 2, 0, 0}, 1);
  });
  flap(by_spine_2, 3);
  for (const Verdict& each : verdicts_at(60 * kSecond)) {
    EXPECT_NE(each.place.kind, PlaceKind::kRoute);
  }
}

TEST_F(PathFaultsTest, PathsToARankThatDiedAreNoFaultOfTheNetwork) {
  trace_all();
  flap(at_host_1, 3, true);
  for (const uint32_t rank : {0u, 2u}) {
    builder_.add(rank, events::ConnectionClosed{{}, to(1), events::CloseCause::kPeerDead},
                 60 * kSecond);
  }
  for (const uint32_t peer : {0u, 2u}) {
    builder_.add(1, events::ConnectionClosed{{}, to(peer), events::CloseCause::kPeerDead},
                 60 * kSecond);
  }
  EXPECT_THAT(verdicts_at(61 * kSecond), IsEmpty());
}

// Paths here and there that fail for a moment, as congestion does it.
TEST_F(PathFaultsTest, OutagesOfSinglePathsAtManyPlacesAreNoVerdict) {
  trace_all();
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    const auto rank = static_cast<uint32_t>(random.below(kRanks));
    const auto path = static_cast<uint16_t>(random.below(kPaths));
    const auto is_it = [&](uint32_t one, uint32_t peer, uint16_t each) {
      return one == rank && peer == (rank + 1) % kRanks && each == path;
    };
    fail(is_it, (10 + 5 * i) * kSecond);
    mend(is_it, (11 + 5 * i) * kSecond);
  }
  EXPECT_THAT(verdicts_at(220 * kSecond), IsEmpty());
}

TEST(PathOutagesTest, RoutesAndOutagesOfARecordingAreBounded) {
  PathOutages paths;
  for (uint32_t i = 0; i < 100'000; ++i) {
    const auto path = static_cast<uint16_t>(i);
    paths.trace(path, {.hop = i % 256, .hops = 255, .router = {1, i + 1}});
    paths.begin(path, i);
    if (i % 2 == 0) paths.end(path, i);
  }
  EXPECT_EQ(paths.routes().size(), params::kMostRoutes);
  EXPECT_EQ(paths.lasting().size(), params::kMostRoutes);
  EXPECT_LE(paths.ended().size(), params::kMostOutages);
  for (const auto& [path, route] : paths.routes()) EXPECT_LE(route.size(), params::kMostHops);
  paths.close(100'000);
  EXPECT_TRUE(paths.lasting().empty());
  EXPECT_LE(paths.ended().size(), params::kMostOutages);
}

}  // namespace
}  // namespace heddle::insight
