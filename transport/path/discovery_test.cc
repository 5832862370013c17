// What discovery finds in model fabrics: every entropy takes a route by chance, routers answer, are
// silent, limit their answers or lose them.
#include "transport/path/discovery.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/random.h"

namespace heddle::transport {
namespace {

using events::RoutesVerdict;

// A fabric of three hops: leaf, one of the spines, leaf; the hop behind them is the peer.
class Fabric {
 public:
  Fabric(uint32_t spines, uint16_t paths, uint64_t seed) : random_(seed), discovery_({}, paths) {
    for (uint16_t i = 0; i < paths; ++i) {
      spine_of_.push_back(static_cast<uint8_t>(random_.below(spines)));
    }
  }
  // Whether the router at this hop of this path answers, when asked now.
  std::function<bool(uint16_t path, uint8_t hop)> answers = [](uint16_t, uint8_t) { return true; };

  FabricRoutes run() {
    while (!discovery_.done()) {
      now_ = std::max(now_, discovery_.next_timeout());
      Discovery::Probe probe;
      while (discovery_.poll_probe(now_, probe)) take(probe);
      if (now_ > seconds(600)) {
        ADD_FAILURE() << "it does not end";
        break;
      }
    }
    return discovery_.routes();
  }
  std::set<uint8_t> spines_used() const { return {spine_of_.begin(), spine_of_.end()}; }
  uint8_t spine_of(uint16_t path) const { return spine_of_[path]; }
  uint32_t probes() const { return probes_; }
  Nanos now() const { return now_; }
  Random& random() { return random_; }

 private:
  void take(const Discovery::Probe& probe) {
    ++probes_;
    if (probe.hop > 3) {
      if (probe.confirms) discovery_.on_arrived(probe.hop);
      return;
    }
    if (!answers(probe.path, probe.hop)) return;
    RouterAddress router{};
    router[0] = probe.hop;
    router[1] = probe.hop == 2 ? spine_of_[probe.path] : uint8_t{0};
    discovery_.on_answer(probe.path, probe.hop, router);
  }

  Random random_;
  Discovery discovery_;
  std::vector<uint8_t> spine_of_;
  Nanos now_;
  uint32_t probes_ = 0;
};

TEST(DiscoveryTest, FindsTheRoutesOfCommonFabrics) {
  for (const uint32_t spines : {1u, 2u, 4u, 8u}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Fabric fabric(spines, 64, seed);
      const FabricRoutes found = fabric.run();
      if (fabric.spines_used().size() < spines) continue;  // chance left one out
      ASSERT_EQ(found.count(), spines) << "seed " << seed;
      EXPECT_EQ(found.hops, 3);
      for (uint16_t path = 0; path < 64; ++path) {
        EXPECT_EQ(found.router(path, 2)[1], fabric.spine_of(path));
        for (uint16_t other = 0; other < path; ++other) {
          EXPECT_EQ(found.route_of[path] == found.route_of[other],
                    fabric.spine_of(path) == fabric.spine_of(other));
        }
      }
    }
  }
}

TEST(DiscoveryTest, MoreRoutesThanItsEntropiesCanShowAreUnknown) {
  const FabricRoutes few = Fabric(16, 64, 1).run();
  EXPECT_EQ(few.count(), 0u);
  EXPECT_EQ(few.verdict, RoutesVerdict::kFewPaths);
  EXPECT_GT(few.seen, 12u);
  EXPECT_EQ(Fabric(4, 8, 1).run().count(), 0u);
  EXPECT_EQ(Fabric(16, 256, 1).run().count(), 16u);
}

TEST(DiscoveryTest, EntropiesAreEnoughBelowOneChanceInAHundred) {
  EXPECT_TRUE(are_enough(64, 8));
  EXPECT_FALSE(are_enough(64, 9));
  EXPECT_TRUE(are_enough(32, 4));
  EXPECT_FALSE(are_enough(32, 5));
  EXPECT_TRUE(are_enough(8, 1));
  EXPECT_FALSE(are_enough(8, 2));
  EXPECT_FALSE(are_enough(256, 0));
}

TEST(DiscoveryTest, ASpineThatIsSilentMakesItUnknown) {
  Fabric fabric(4, 64, 1);
  fabric.answers = [&](uint16_t path, uint8_t hop) {
    return hop != 2 || fabric.spine_of(path) != 1;
  };
  const FabricRoutes found = fabric.run();
  EXPECT_EQ(found.count(), 0u);
  EXPECT_EQ(found.verdict, RoutesVerdict::kSilentRouter);
  EXPECT_EQ(found.hops, 2) << "the last column is the one with gaps";
}

TEST(DiscoveryTest, ATierThatIsSilentMakesItUnknown) {
  Fabric fabric(4, 64, 1);
  fabric.answers = [](uint16_t, uint8_t hop) { return hop != 2; };
  const FabricRoutes found = fabric.run();
  EXPECT_EQ(found.count(), 0u) << "the peer is not there where nobody answers";
  EXPECT_EQ(found.verdict, RoutesVerdict::kSilentRouter);
}

TEST(DiscoveryTest, AnswersThatAreLostAreAskedForAgain) {
  Fabric fabric(4, 64, 3);
  fabric.answers = [&](uint16_t, uint8_t) { return fabric.random().below(100) < 70; };
  EXPECT_EQ(fabric.run().count(), 4u);
}

TEST(DiscoveryTest, RoutersThatAnswerOnceASecondAreWaitedFor) {
  Fabric fabric(4, 32, 5);
  std::map<std::pair<uint8_t, uint8_t>, Nanos> next;
  fabric.answers = [&](uint16_t path, uint8_t hop) {
    Nanos& at = next[{hop, hop == 2 ? fabric.spine_of(path) : uint8_t{0}}];
    if (fabric.now() < at) return false;
    at = fabric.now() + seconds(1);
    return true;
  };
  EXPECT_EQ(fabric.run().count(), 4u);
  EXPECT_LT(fabric.probes(), 1200u);
}

TEST(DiscoveryTest, TheLastPathWithoutAnAnswerIsWaitedForAsTheOthersAre) {
  for (const uint16_t last : {uint16_t{0}, uint16_t{9}, uint16_t{31}}) {
    Fabric fabric(1, 32, 1);
    fabric.answers = [&](uint16_t path, uint8_t hop) {
      return hop != 2 || path != last || fabric.now() > millis(500);
    };
    EXPECT_EQ(fabric.run().count(), 1u) << last;
  }
}

TEST(DiscoveryTest, AQuietFabricCostsAProbeAPathAndHopAndAFewMore) {
  Fabric fabric(4, 64, 1);
  fabric.run();
  EXPECT_LE(fabric.probes(), 64u * 3 + 64 + 16);
  EXPECT_LT(fabric.now(), 3 * 64 * micros(100) + 2 * millis(20));
}

TEST(DiscoveryTest, AFewOfEachWayAreEnough) {
  Fabric fabric(4, 64, 1);
  std::map<uint8_t, int> kept;
  for (const uint16_t path : paths_of_each_route(fabric.run(), 2)) ++kept[fabric.spine_of(path)];
  EXPECT_EQ(kept, (std::map<uint8_t, int>{{0, 2}, {1, 2}, {2, 2}, {3, 2}}));
}

}  // namespace
}  // namespace heddle::transport
