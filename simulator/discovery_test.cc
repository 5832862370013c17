// Discovery of routes in simulated fabrics: production transport and driver, and switches that
// reply, limit their replies, or are silent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "simulator/testing/stream.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using events::RoutesVerdict;
using transport::FabricRoutes;

topology::Topology leaf_spine(uint32_t spines, BitsPerSec rate = gigabits_per_s(10)) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = spines, .hosts_per_leaf = 1};
  shape.host_link = {.rate = rate, .delay = micros(1)};
  shape.spine_link = {.rate = rate, .delay = micros(2)};
  return topology::leaf_spine(shape);
}

struct Setting {
  topology::Topology topology;
  NetworkOptions network;
  uint16_t paths = 64;
  uint32_t from = 0;
  uint32_t to = 1;
  std::vector<transport::ClusterKey> keys;
  transport::DiscoveryMode discovery = transport::DiscoveryMode::kNever;
  uint64_t message_bytes = 1000;
  uint32_t messages = 1;
  uint64_t seed = 1;
};

// Two processes with a connection between them that discovers routes.
class Look {
 public:
  explicit Look(const Setting& setting)
      : world_({.topology = setting.topology, .network = setting.network}, setting.seed),
        from_(world_.add(options_of(setting, setting.from))),
        to_(world_.add(options_of(setting, setting.to))) {
    StreamOptions stream{.message_bytes = setting.message_bytes, .messages = setting.messages};
    receiver_ = std::make_unique<Stream>(to_, stream);
    stream.peer = to_.address();
    stream.connection.paths = setting.paths;
    sender_ = std::make_unique<Stream>(from_, stream);
    world_.run_until_done([this] { return statistics() != nullptr && statistics()->paths > 0; },
                          seconds(5));
  }
  ~Look() { receiver_->forget(); }

  // Starts discovery and waits for the result.
  FabricRoutes find(Nanos limit = seconds(600)) {
    if (!end().post_discovery(world_.now(), sender_->connection())) return {};
    from_.poke();
    FabricRoutes found;
    const bool done = world_.run_until_done(
        [&] { return end().routes(sender_->connection(), found) && !found.under_way; }, limit);
    EXPECT_TRUE(done) << "it does not end";
    return found;
  }
  bool fix(std::span<const uint16_t> paths) {
    return end().post_paths(world_.now(), sender_->connection(), paths).has_value();
  }
  World& world() { return world_; }
  transport::Endpoint& end() { return from_.endpoint(); }
  const transport::ConnectionStatistics* statistics() { return sender_->statistics(); }
  uint64_t steps(events::RecoveryStep step) {
    return end().statistics().recovery_by_step[static_cast<size_t>(step)];
  }
  std::map<uint16_t, uint64_t> sent() {
    std::map<uint16_t, uint64_t> bytes;
    for (const transport::PathStatistics& path : end().path_statistics(sender_->connection())) {
      bytes[path.path] = path.payload_bytes_sent;
    }
    return bytes;
  }
  bool all_active() {
    const auto paths = end().path_statistics(sender_->connection());
    return std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.active; });
  }

 private:
  static TransportProcessOptions options_of(const Setting& setting, NicId nic) {
    TransportProcessOptions options;
    options.process.datapath.nic = nic;
    options.process.datapath.max_paths = 256;
    options.transport.accept = true;
    options.transport.max_paths = 256;
    options.transport.keys = setting.keys;
    options.transport.discovery = setting.discovery;
    return options;
  }

  World world_;
  TransportProcess& from_;
  TransportProcess& to_;
  std::unique_ptr<Stream> receiver_;
  std::unique_ptr<Stream> sender_;
};

TEST(DiscoveryTest, RoutesOfLeafSpineFabricsAreCountedExactly) {
  for (const uint32_t spines : {1u, 2u, 4u, 8u}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Look look({.topology = leaf_spine(spines), .seed = seed});
      const FabricRoutes found = look.find(seconds(2));
      EXPECT_EQ(found.count(), spines) << "seed " << seed;
      ASSERT_EQ(found.hops, 3);
      for (uint16_t path = 0; path < 64; ++path) {
        EXPECT_EQ(found.router(path, 1), router_address(0)) << "leaf 0";
        EXPECT_EQ(found.router(path, 3), router_address(1)) << "leaf 1";
      }
    }
  }
}

TEST(DiscoveryTest, HostsWithoutASwitchBetweenThemHaveOneRoute) {
  Look look({.topology = topology::point_to_point({})});
  const FabricRoutes found = look.find(seconds(2));
  EXPECT_EQ(found.count(), 1u);
  EXPECT_EQ(found.hops, 0);
}

TEST(DiscoveryTest, AFatTreeHasOneRoutePerCoreSwitch) {
  topology::FatTreeShape shape;  // 2 spines per pod, 2 cores each
  Look look({.topology = topology::fat_tree(shape), .from = 0, .to = 15});
  const FabricRoutes found = look.find(seconds(2));
  EXPECT_EQ(found.count(), 4u);
  EXPECT_EQ(found.hops, 5);
  EXPECT_EQ(Look({.topology = topology::fat_tree(shape), .from = 0, .to = 2}).find().count(), 2u)
      << "within a pod";
}

TEST(DiscoveryTest, RoutesAreFoundWithClusterKeysAsWell) {
  transport::ClusterKey key;
  key.secret.fill(std::byte{7});
  Look look({.topology = leaf_spine(4), .keys = {key}});
  EXPECT_EQ(look.find(seconds(2)).count(), 4u);
}

TEST(DiscoveryTest, SilentSwitchesMakeTheCountUnknown) {
  for (const std::vector<uint32_t>& silent :
       {std::vector<uint32_t>{0}, {3}, {2, 3, 4, 5}, {1}, {0, 1, 2, 3, 4, 5}}) {
    Look look({.topology = leaf_spine(4), .network = {.silent_switches = silent}});
    const FabricRoutes found = look.find(seconds(60));
    EXPECT_EQ(found.count(), 0u);
    EXPECT_EQ(found.verdict, RoutesVerdict::kSilentRouter);
    EXPECT_EQ(found.hops, silent[0] == 0 ? 1 : silent[0] == 1 ? 3 : 2) << "which is silent";
  }
}

TEST(DiscoveryTest, RateLimitedSwitchesAreWaitedFor) {
  Look look({.topology = leaf_spine(4), .network = {.time_exceeded_apart = millis(500)}});
  const FabricRoutes found = look.find(seconds(600));
  EXPECT_EQ(found.count(), 4u) << name_of(found.verdict) << " at hop " << int{found.hops};
}

TEST(DiscoveryTest, LostProbesAndRepliesAreRetried) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Setting setting{.topology = leaf_spine(4), .seed = seed};
    for (topology::Link& link : setting.topology.links) {
      link.forward.loss_per_million = link.backward.loss_per_million = 50'000;
    }
    EXPECT_EQ(Look(setting).find(seconds(60)).count(), 4u) << "seed " << seed;
  }
}

TEST(DiscoveryTest, DiscoveryDeclaresNothingLostAndSuspectsNoPath) {
  for (const std::vector<uint32_t>& silent : {std::vector<uint32_t>{}, {2, 3, 4, 5}}) {
    Look look({.topology = leaf_spine(4), .network = {.silent_switches = silent}});
    look.find(seconds(60));
    look.world().run_for(seconds(1));
    EXPECT_TRUE(look.all_active());
    EXPECT_EQ(look.steps(events::RecoveryStep::kGapRetransmit), 0u);
    EXPECT_EQ(look.steps(events::RecoveryStep::kTimeoutRetransmit), 0u);
    EXPECT_EQ(look.steps(events::RecoveryStep::kPathSetAside), 0u);
    EXPECT_EQ(look.steps(events::RecoveryStep::kTailProbe), 0u);
    EXPECT_EQ(look.steps(events::RecoveryStep::kSpuriousRetransmit), 0u);
    EXPECT_EQ(look.end().records_lent(), 0u);
  }
}

// Payload bytes per path that left while `run` ran.
template <typename Run>
std::map<uint16_t, uint64_t> sent_during(Look& look, Run run) {
  const std::map<uint16_t, uint64_t> before = look.sent();
  run();
  std::map<uint16_t, uint64_t> sent;
  for (const auto& [path, bytes] : look.sent()) {
    if (bytes > before.at(path)) sent[path] = bytes - before.at(path);
  }
  return sent;
}

Setting busy(uint32_t spines, BitsPerSec rate = gigabits_per_s(10)) {
  Setting setting{.topology = leaf_spine(spines, rate)};
  setting.discovery = transport::DiscoveryMode::kAuto;
  setting.message_bytes = 1u << 20;
  setting.messages = 20'000;  // 17 s and more
  return setting;
}

// No route has more than 8 paths that carry payload, and most of these did within a while.
void expect_eight_of_each(const FabricRoutes& found, const std::map<uint16_t, uint64_t>& sent) {
  std::map<uint16_t, int> used;
  for (const auto& [path, bytes] : sent) ++used[found.route_of[path]];
  EXPECT_EQ(used.size(), found.count());
  for (const auto& [way, paths] : used) {
    EXPECT_LE(paths, 8);
    EXPECT_GE(paths, 6);
  }
}

TEST(DiscoveryTest, AfterDiscoveryEightPathsPerRouteCarryPayload) {
  Look look(busy(4));
  look.world().run_for(millis(500));
  ASSERT_EQ(look.statistics()->routes, 4u);
  const FabricRoutes found = look.find(seconds(2));
  expect_eight_of_each(found, sent_during(look, [&] { look.world().run_for(millis(100)); }));
}

TEST(DiscoveryTest, WithoutDiscoveryPayloadUsesManyPaths) {
  Setting setting = busy(4);
  setting.discovery = transport::DiscoveryMode::kNever;
  Look look(setting);
  look.world().run_for(millis(500));
  EXPECT_EQ(look.statistics()->routes, 0u);
  EXPECT_GT(sent_during(look, [&] { look.world().run_for(millis(100)); }).size(), 40u);
}

TEST(DiscoveryTest, PathsFixedByTheCallerStayFixed) {
  Look look(busy(4));
  const std::array<uint16_t, 1> fixed{17};
  ASSERT_TRUE(look.fix(fixed));
  look.world().run_for(millis(500));
  EXPECT_EQ(look.statistics()->routes, 4u);
  const auto sent = sent_during(look, [&] { look.world().run_for(millis(100)); });
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.begin()->first, 17);
}

topology::LinkChange change_of(topology::LinkChangeKind kind, uint32_t link, Nanos at) {
  topology::LinkChange change;
  change.kind = kind;
  change.link = link;
  change.at = at;
  return change;
}

// Leaf 0's cable to spine 1 is link 3: links 0 and 1 are the hosts'.
TEST(DiscoveryTest, ARouteThatFailsDuringDiscoveryDoesNotBlockIt) {
  Setting setting{.topology = leaf_spine(4)};
  setting.topology.changes.push_back(change_of(topology::LinkChangeKind::kDown, 3, millis(15)));
  Look look(setting);
  const FabricRoutes found = look.find(seconds(60));
  EXPECT_EQ(found.count(), 0u);
  EXPECT_EQ(found.verdict, RoutesVerdict::kSilentRouter);
}

TEST(DiscoveryTest, AfterSwitchesNoticeADeadLinkTheOtherRoutesAreUsed) {
  using topology::LinkChangeKind;
  Setting setting = busy(4, gigabits_per_s(1));  // for eight seconds
  for (const uint32_t link : {3u, 7u}) {         // the links of spine 1
    setting.topology.changes.push_back(change_of(LinkChangeKind::kDown, link, seconds(1)));
    setting.topology.changes.push_back(change_of(LinkChangeKind::kNotice, link, millis(1500)));
  }
  Look look(setting);
  look.world().run_for(millis(800));
  ASSERT_EQ(look.statistics()->routes, 4u);
  look.world().run_for(seconds(6));
  EXPECT_EQ(look.statistics()->routes, 3u);
  const FabricRoutes found = look.find(seconds(2));
  expect_eight_of_each(found, sent_during(look, [&] { look.world().run_for(seconds(1)); }));
}

}  // namespace
}  // namespace heddle::simulator
