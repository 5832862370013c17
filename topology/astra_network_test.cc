// ASTRA-sim's network descriptions as topologies, and what is refused.
#include "topology/astra_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heddle::topology {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& kind, const std::string& npus) {
  return "# made by hand\ntopology: [ " + kind + " ]\nnpus_count: [ " + npus +
         " ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 936.25 ]  # ns\n";
}

std::string refused(const std::string& text) {
  const auto topology = parse_astra_network(text, "n.yml");
  return topology ? "accepted" : topology.error().message();
}

TEST(AstraNetwork, ASwitchHasACableToEachNpu) {
  const auto topology = parse_astra_network(text_of("Switch", "8"), "n.yml");
  ASSERT_TRUE(topology) << topology.error().message();
  EXPECT_EQ(topology->hosts.size(), 8u);
  EXPECT_EQ(topology->switches.size(), 1u);
  ASSERT_EQ(topology->links.size(), 8u);
  EXPECT_EQ(topology->links.front().shape.rate, gigabits_per_s(400));
  EXPECT_EQ(topology->links.front().shape.delay, Nanos{936});
}

TEST(AstraNetwork, TwoNpusHaveACable) {
  for (const char* kind : {"Ring", "FullyConnected"}) {
    const auto topology = parse_astra_network(text_of(kind, "2"), "n.yml");
    ASSERT_TRUE(topology);
    EXPECT_EQ(topology->links.size(), 1u);
  }
}

TEST(AstraNetwork, WhatHasNoCounterpartIsRefusedWithTheReason) {
  EXPECT_THAT(refused(text_of("Ring", "8")), HasSubstr("n.yml:2: 'Ring' of 8 NPUs has no switch"));
  EXPECT_THAT(refused(text_of("FullyConnected", "4")), HasSubstr("FullyConnected"));
  EXPECT_THAT(refused(text_of("Switch, Switch", "8, 4")), HasSubstr("2 dimensions"));
  EXPECT_THAT(refused(text_of("Switch", "one")), HasSubstr("n.yml:3: npus_count"));
  EXPECT_THAT(refused("topology: [ Switch ]\n"), HasSubstr("no npus_count"));
  EXPECT_THAT(refused("Switch\n"), HasSubstr("n.yml:1: there is no key"));
}

}  // namespace
}  // namespace heddle::topology
