// Inference of whole fabrics: the recovered graph is the true one, faults are named where they are,
// and what cannot be known is not claimed.
#include "probing/infer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "probing/comparison.h"
#include "probing/next_tasks.h"
#include "probing/testing/probed_network.h"
#include "probing/topology_text.h"
#include "topology/file.h"
#include "topology/generators.h"

namespace heddle::probing {
namespace {

topology::Topology two_leaf_four_spine() {
  topology::LeafSpineShape shape;
  shape.spines = 4;
  shape.host_link.rate = gigabits_per_s(1);
  shape.spine_link.rate = megabits_per_s(200);
  return topology::leaf_spine(shape);
}

topology::Topology three_leaf_three_spine() {
  topology::LeafSpineShape shape;
  shape.leaves = 3;
  shape.spines = 3;
  return topology::leaf_spine(shape);
}

std::string text_of(const Comparison& comparison) {
  std::string text;
  for (const Difference& each : comparison.differences) {
    text += std::string(name_of(each.kind)) + " " + each.subject + ": " + each.why + "\n";
  }
  return text;
}

std::string text_of(const FoundFabric& found) {
  std::string text;
  for (const Finding& finding : found.findings) {
    text += std::string(name_of(finding.kind));
    for (const Hop& hop : finding.places) text += " [" + name_of(found, hop) + "]";
    text += " " + finding.evidence + "\n";
  }
  return text;
}

// The findings of a kind that have one place, as text.
std::vector<std::string> named(const FoundFabric& found, FindingKind kind) {
  std::vector<std::string> places;
  for (const Finding& finding : found.findings) {
    if (finding.kind != kind) continue;
    EXPECT_EQ(finding.places.size(), 1u) << text_of(found);
    places.push_back(name_of(found, finding.places.front()));
  }
  return places;
}

void expect_whole(const topology::Topology& truth, uint64_t seed, bool port_addresses,
                  uint16_t entropies) {
  ProbedNetwork network(truth, seed, port_addresses);
  const FoundFabric found = infer(network.probe(entropies), nullptr);
  const Comparison comparison = compare(found, truth);
  EXPECT_EQ(text_of(comparison), "");
  EXPECT_EQ(text_of(found), "");
  EXPECT_EQ(found.switches.size(), truth.switches.size());
  EXPECT_GT(comparison.links, 0u);
}

// Between switches, in both directions.
std::vector<std::pair<std::string, std::string>> inner_hops(const topology::Topology& fabric) {
  std::vector<std::pair<std::string, std::string>> hops;
  for (const topology::Link& link : fabric.links) {
    if (link.a.kind == topology::NodeKind::kNic) continue;
    const std::string a = fabric.switches[link.a.index].name;
    const std::string b = fabric.switches[link.b.index].name;
    hops.emplace_back(a, b);
    hops.emplace_back(b, a);
  }
  return hops;
}

TEST(InferTest, RecoversLeafSpineFabrics) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 4 : 12); ++seed) {
    Random random(seed);
    topology::LeafSpineShape shape;
    shape.leaves = static_cast<uint32_t>(random.between(2, 4));
    shape.spines = static_cast<uint32_t>(random.between(1, 5));
    shape.hosts_per_leaf = static_cast<uint32_t>(random.between(1, 3));
    shape.hash_seed = seed;
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << shape.leaves << " leaves, "
                                    << shape.spines << " spines");
    expect_whole(topology::leaf_spine(shape), seed, seed % 2 == 0, 64);
  }
}

TEST(InferTest, RecoversSeveralNicsAndRails) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 2 : 4); ++seed) {
    topology::LeafSpineShape shape;
    shape.leaves = 4;
    shape.nics_per_host = 2;
    shape.rails = seed % 2 == 0;
    shape.hash_seed = seed;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_whole(topology::leaf_spine(shape), seed, seed % 4 < 2, 64);
  }
}

TEST(InferTest, RecoversFatTrees) {
  for (uint64_t seed = 1; seed <= 4; seed += kSanitized ? 3 : 1) {
    topology::FatTreeShape shape;
    shape.pods = 2 + seed % 2 * 2;
    shape.hash_seed = seed;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_whole(topology::fat_tree(shape), seed, seed > 2, 64);
  }
}

TEST(InferTest, ParallelCablesAreCountedWhereTheirPortsHaveAddresses) {
  topology::LeafSpineShape shape;
  shape.bundle = 2;
  const topology::Topology fabric = topology::leaf_spine(shape);
  for (const bool port_addresses : {false, true}) {
    ProbedNetwork network(fabric, 1, port_addresses);
    const Comparison comparison = compare(infer(network.probe(64), nullptr), fabric);
    EXPECT_EQ(text_of(comparison), "");
    EXPECT_EQ(comparison.notes.empty(), port_addresses);
  }
}

TEST(InferTest, EveryDeadDirectionIsNamed) {
  std::vector<topology::Topology> fabrics{two_leaf_four_spine()};
  if (!kSanitized) fabrics.push_back(three_leaf_three_spine());
  for (const topology::Topology& fabric : fabrics) {
    for (const auto& [from, to] : inner_hops(fabric)) {
      ProbedNetwork network(fabric, 7);
      network.kill(from, to);
      const FoundFabric found = infer(network.probe(64), network.names());
      EXPECT_EQ(named(found, FindingKind::kDead), std::vector{from + " -> " + to})
          << from << " -> " << to << "\n"
          << text_of(found);
      EXPECT_EQ(text_of(compare(found, fabric)), "") << from << " -> " << to;
    }
  }
}

TEST(InferTest, ACableThatIsDeadInBothDirectionsIsNamedInBoth) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 3);
  network.kill("leaf0", "spine1");
  network.kill("spine1", "leaf0");
  const FoundFabric found = infer(network.probe(64), network.names());
  std::vector<std::string> places = named(found, FindingKind::kDead);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<std::string>{"leaf0 -> spine1", "spine1 -> leaf0"}));
}

Observations probed_once(ProbedNetwork& network) {
  Observations all{.nics = network.nics(), .flows = {}};
  network.run(first_tasks(all.nics, {.first_port = 24'000, .entropies = 64, .deliveries = 1}), all);
  return all;
}

TEST(InferTest, OneLostPacketIsNoDeadLink) {
  const topology::Topology fabric = two_leaf_four_spine();
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    ProbedNetwork network(fabric, seed);
    for (const auto& [from, to] : inner_hops(fabric)) network.lose(from, to, 5'000);
    EXPECT_EQ(named(infer(probed_once(network), network.names()), FindingKind::kDead).size(), 0u)
        << "seed " << seed;
  }
}

TEST(InferTest, ADeadLinkIsNamedByOnePacketOfEachFlow) {
  ProbedNetwork network(two_leaf_four_spine(), 7);
  network.kill("leaf0", "spine1");
  EXPECT_EQ(named(infer(probed_once(network), network.names()), FindingKind::kDead),
            std::vector<std::string>{"leaf0 -> spine1"});
}

TEST(InferTest, AHostWhoseFirewallDropsProbesHasNoDeadLink) {
  ProbedNetwork network(two_leaf_four_spine(), 3);
  Observations all = network.probe();
  for (auto& [key, flow] : all.flows) {
    if (key.to != 1) continue;
    flow.delivered = 0;
    flow.routers.reset();
    flow.one_way_min.reset();
    flow.train_rates.clear();
  }
  const FoundFabric found = infer(all, network.names());
  ASSERT_EQ(found.findings.size(), 1u) << text_of(found);
  EXPECT_EQ(name_of(found, found.findings[0].places.at(0).from), "h1");
  EXPECT_EQ(found.findings[0].certainty, Certainty::kGuessed);
  EXPECT_NE(found.findings[0].evidence.find("firewall"), std::string::npos);
  EXPECT_EQ(topology_text(found).find("[[fault]]"), std::string::npos);
}

TEST(InferTest, ADeadCableOfAHostIsNamed) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 3);
  network.kill("leaf0", "h1");
  const FoundFabric found = infer(network.probe(), network.names());
  EXPECT_EQ(named(found, FindingKind::kDead), std::vector<std::string>{"leaf0 -> h1"})
      << text_of(found);
}

TEST(InferTest, AHostThatNoRouteLeadsToIsNamedAndNotTheLinksOfOthers) {
  topology::Topology fabric = two_leaf_four_spine();
  fabric.links.erase(fabric.links.begin() + 3);  // h3 - leaf1
  ProbedNetwork network(fabric, 3);
  const FoundFabric found = infer(network.probe(), network.names());
  std::vector<std::string> places = named(found, FindingKind::kDead);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<std::string>{"? -> h3", "h3 -> ?"})) << text_of(found);
  const Result<topology::Topology> read = topology::parse_topology(topology_text(found), "found");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->hosts.size(), 3u);
}

TEST(InferTest, ADeadSpineLeavesAnUnknownPlaceBehindEachLeaf) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 3);
  for (const char* const leaf : {"leaf0", "leaf1"}) {
    network.kill(leaf, "spine2");
    network.kill("spine2", leaf);
  }
  const FoundFabric found = infer(network.probe(64), network.names());
  std::vector<std::string> places = named(found, FindingKind::kDead);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<std::string>{"leaf0 -> ?", "leaf1 -> ?"}));
  const Comparison comparison = compare(found, fabric);
  EXPECT_NE(text_of(comparison).find("missing spine2"), std::string::npos) << text_of(comparison);
}

TEST(InferTest, EveryLossyDirectionIsNamed) {
  for (const topology::Topology& fabric : {two_leaf_four_spine(), three_leaf_three_spine()}) {
    for (const auto& [from, to] : inner_hops(fabric)) {
      ProbedNetwork network(fabric, 11);
      network.lose(from, to, 50'000);
      const FoundFabric found = infer(network.probe(), network.names());
      EXPECT_EQ(named(found, FindingKind::kLossy), std::vector{from + " -> " + to})
          << text_of(found);
      for (const Finding& finding : found.findings) EXPECT_NEAR(finding.loss, 0.05, 0.03);
    }
  }
}

TEST(InferTest, TwoLossyLinksAreSeparated) {
  ProbedNetwork network(three_leaf_three_spine(), 5);
  network.lose("leaf0", "spine1", 80'000);
  network.lose("spine2", "leaf2", 50'000);
  const FoundFabric found = infer(network.probe(), network.names());
  std::vector<std::string> places = named(found, FindingKind::kLossy);
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<std::string>{"leaf0 -> spine1", "spine2 -> leaf2"}));
}

TEST(InferTest, WithoutProbesOfHopsSeveralPlacesOfLossStayOpen) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 11);
  network.lose("leaf0", "spine1", 50'000);
  Observations all{.nics = network.nics(), .flows = {}};
  network.run(first_tasks(all.nics, {.first_port = 24'000, .entropies = 32, .deliveries = 20}),
              all);
  const FoundFabric found = infer(all, network.names());
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].places.size(), 2u) << text_of(found);
}

TEST(InferTest, EverySlowDirectionIsNamed) {
  const topology::Topology fabric = two_leaf_four_spine();
  for (const auto& [from, to] : inner_hops(fabric)) {
    ProbedNetwork network(fabric, 2);
    network.slow(from, to, megabits_per_s(50));
    const FoundFabric found = infer(network.probe(), network.names());
    EXPECT_EQ(named(found, FindingKind::kSlow), std::vector{from + " -> " + to}) << text_of(found);
    const Comparison comparison = compare(found, fabric);
    ASSERT_EQ(comparison.differences.size(), 1u);
    EXPECT_EQ(comparison.differences[0].kind, DifferenceKind::kWrong);
  }
}

// Packets of one that waited for a processor arrived together.
TEST(InferTest, OneTrainThatIsTooFastMakesNoLinkFaster) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  Observations all = network.probe();
  const auto between_leaves = [](const auto& each) {
    return !each.second.train_rates.empty() && each.second.train_rates.front() < gigabits_per_s(1);
  };
  const auto one = std::find_if(all.flows.begin(), all.flows.end(), between_leaves);
  ASSERT_NE(one, all.flows.end());
  one->second.train_rates.front() = megabits_per_s(876);
  const FoundFabric found = infer(all, network.names());
  EXPECT_EQ(text_of(found), "");
  for (const FoundLink& link : found.links) {
    if (link.a.kind == topology::NodeKind::kNic) continue;
    EXPECT_EQ(link.forward.rate, megabits_per_s(200));
    EXPECT_EQ(link.backward.rate, megabits_per_s(200));
  }
}

TEST(InferTest, EveryDelayedCableIsNamed) {
  for (const topology::Topology& fabric : {two_leaf_four_spine(), three_leaf_three_spine()}) {
    for (const topology::Link& link : fabric.links) {
      if (link.a.kind == topology::NodeKind::kNic) continue;
      const std::string a = fabric.switches[link.a.index].name;
      const std::string b = fabric.switches[link.b.index].name;
      ProbedNetwork network(fabric, 2);
      network.delay(a, b, micros(500));
      network.delay(b, a, micros(500));
      const FoundFabric found = infer(network.probe(), network.names());
      std::vector<std::string> places = named(found, FindingKind::kDelayed);
      std::sort(places.begin(), places.end());
      std::vector<std::string> both = {a + " -> " + b, b + " -> " + a};
      std::sort(both.begin(), both.end());
      EXPECT_EQ(places, both) << text_of(found);
    }
  }
}

TEST(InferTest, DelaysSeparateRoutesOverSilentSpines) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  for (const char* const spine : {"spine0", "spine1", "spine2", "spine3"}) network.silence(spine);
  network.delay("leaf0", "spine1", micros(300));
  network.delay("leaf0", "spine2", micros(700));
  const FoundFabric found = infer(network.probe(), network.names());
  EXPECT_NE(text_of(found).find("delays show at least 3"), std::string::npos) << text_of(found);
}

TEST(InferTest, ALinkThatRoutingAvoidsIsMissing) {
  const topology::Topology whole = three_leaf_three_spine();
  topology::Topology fabric = whole;
  fabric.links.pop_back();  // leaf2 - spine2
  ProbedNetwork network(fabric, 2);
  const FoundFabric found = infer(network.probe(64), network.names());
  EXPECT_EQ(named(found, FindingKind::kMissing), std::vector<std::string>{"leaf2 -> spine2"});
  EXPECT_EQ(text_of(compare(found, whole)), "missing leaf2 - spine2: no probe crossed it\n");
}

TEST(InferTest, OneSilentSpineIsFoundAsSilent) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  network.silence("spine3");
  const FoundFabric found = infer(network.probe(), network.names());
  EXPECT_EQ(text_of(compare(found, fabric)), "");
  ASSERT_EQ(found.findings.size(), 1u) << text_of(found);
  EXPECT_EQ(found.findings[0].kind, FindingKind::kSilent);
  EXPECT_FALSE(found.findings[0].is_fault());
}

TEST(InferTest, SwitchesThatLimitTheirAnswersAreNoSilentSwitchesAndNoLossyLinks) {
  const topology::Topology fabric = two_leaf_four_spine();
  for (const uint32_t most : {8u, 20u, 60u, 200u}) {
    ProbedNetwork network(fabric, 2);
    network.limit_answers(most);
    const FoundFabric found = infer(network.probe(), network.names());
    EXPECT_EQ(text_of(found), "") << most;
    EXPECT_EQ(found.switches.size(), 6u) << most;
  }
}

TEST(InferTest, LostAnswersAloneBlameNoLink) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  Observations all = network.probe();
  for (auto& [key, flow] : all.flows) {  // of one direction, three of four answers are missing
    for (HopProbes& hop : flow.hops) {
      hop.sent += key.from == 0 ? 40 : 0;
      hop.answered += key.from == 0 ? 10 : 0;
    }
  }
  EXPECT_EQ(text_of(infer(all, network.names())), "");
}

TEST(InferTest, ALossyLinkIsNamedThoughSwitchesLimitTheirAnswers) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  network.limit_answers(200);
  network.lose("spine1", "leaf0", 80'000);
  const FoundFabric found = infer(network.probe(), network.names());
  ASSERT_EQ(found.findings.size(), 1u) << text_of(found);
  EXPECT_EQ(found.findings[0].kind, FindingKind::kLossy);
  EXPECT_NE(text_of(found).find("spine1 -> leaf0"), std::string::npos) << text_of(found);
}

TEST(InferTest, SilentSpinesAreNotCounted) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  for (const char* const spine : {"spine0", "spine1", "spine2", "spine3"}) network.silence(spine);
  const FoundFabric found = infer(network.probe(), network.names());
  EXPECT_EQ(found.switches.size(), 3u);
  EXPECT_EQ(compare(found, fabric).differences.size(),
            3u + 6u);  // three spines with two links each
}

TEST(InferTest, SilentLeavesAreKnownByTheirPosition) {
  const topology::Topology fabric = three_leaf_three_spine();
  ProbedNetwork network(fabric, 2);
  network.silence("leaf1");
  const FoundFabric found = infer(network.probe(64), network.names());
  EXPECT_EQ(text_of(compare(found, fabric)), "");
}

TEST(InferTest, TheFileOfAFoundFabricIsTheSameFabric) {
  const topology::Topology fabric = two_leaf_four_spine();
  ProbedNetwork network(fabric, 2);
  network.lose("leaf0", "spine1", 50'000);
  network.kill("leaf1", "spine2");
  const FoundFabric found = infer(network.probe(), network.names());
  const std::string text = topology_text(found);
  const Result<topology::Topology> read = topology::parse_topology(text, "found.toml");
  ASSERT_TRUE(read.has_value()) << read.error().message() << "\n" << text;
  EXPECT_EQ(read->hosts.size(), 4u);
  EXPECT_EQ(read->switches.size(), 6u);
  EXPECT_EQ(read->links.size(), 12u);
  EXPECT_EQ(text_of(compare(found, *read)), "");
  EXPECT_FALSE(read->changes.empty());
  EXPECT_NE(text.find("# lossy: leaf0 -> spine1 (inferred)"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::probing
