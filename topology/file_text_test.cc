// A topology that is written as a file and read again is the same.
#include "topology/file_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "topology/file.h"
#include "topology/generators.h"

namespace heddle::topology {
namespace {

void expect_same(const LinkShape& read, const LinkShape& written) {
  EXPECT_EQ(read.rate.count, written.rate.count);
  EXPECT_EQ(read.delay, written.delay);
  EXPECT_EQ(read.queue, written.queue);
  EXPECT_EQ(read.mtu_bytes, written.mtu_bytes);
  EXPECT_EQ(read.ecn_threshold, written.ecn_threshold);
  EXPECT_EQ(read.ecn_ramp, written.ecn_ramp);
  EXPECT_EQ(read.ecn_ramp_per_million, written.ecn_ramp_per_million);
}

void expect_same(const SwitchShape& read, const SwitchShape& written) {
  EXPECT_EQ(read.buffer, written.buffer);
  EXPECT_EQ(uint64_t{read.alpha} * written.alpha_divisor,
            uint64_t{written.alpha} * read.alpha_divisor);
  EXPECT_EQ(read.reserve, written.reserve);
  EXPECT_EQ(read.trims, written.trims);
  EXPECT_EQ(read.lossless, written.lossless);
  EXPECT_EQ(read.xoff, written.xoff);
  EXPECT_EQ(read.xon, written.xon);
  EXPECT_EQ(read.balancing, written.balancing);
  EXPECT_EQ(read.flowlet_gap, written.flowlet_gap);
}

void expect_read_again(const Topology& written) {
  const std::string text = topology_text(written);
  const Result<Topology> read = parse_topology(text, "t.toml");
  ASSERT_TRUE(read) << read.error().message() << "\n" << text;
  ASSERT_EQ(read->hosts.size(), written.hosts.size());
  for (size_t i = 0; i < written.hosts.size(); ++i) {
    EXPECT_EQ(read->hosts[i].name, written.hosts[i].name);
  }
  ASSERT_EQ(read->nics.size(), written.nics.size());
  for (size_t i = 0; i < written.nics.size(); ++i) {
    EXPECT_EQ(read->nics[i].host, written.nics[i].host);
  }
  ASSERT_EQ(read->switches.size(), written.switches.size());
  for (size_t i = 0; i < written.switches.size(); ++i) {
    EXPECT_EQ(read->switches[i].name, written.switches[i].name);
    EXPECT_EQ(read->switches[i].hash_seed, written.switches[i].hash_seed & INT64_MAX);
    expect_same(read->switches[i].shape, written.switches[i].shape);
  }
  ASSERT_EQ(read->links.size(), written.links.size());
  for (size_t i = 0; i < written.links.size(); ++i) {
    EXPECT_EQ(read->links[i].a, written.links[i].a);
    EXPECT_EQ(read->links[i].b, written.links[i].b);
    expect_same(read->links[i].shape, written.links[i].shape);
  }
}

LinkShape any_link(Random& random) {
  LinkShape shape;
  shape.rate = {random.below(4) == 0 ? 0 : 1'000 + random.below(400'000'000'000)};
  shape.delay = nanos(static_cast<int64_t>(random.below(20'000'000)));
  shape.mtu_bytes = 1'280 + static_cast<uint32_t>(random.below(8'000));
  shape.queue = {20'000 + random.below(1'000'000)};
  if (random.below(2) == 0) return shape;
  shape.ecn_threshold = {random.below(100'000)};
  if (random.below(2) == 0) return shape;
  shape.ecn_ramp = {1 + random.below(300'000)};
  shape.ecn_ramp_per_million = static_cast<uint32_t>(random.below(1'000'001));
  return shape;
}

SwitchShape any_switch(Random& random) {
  SwitchShape shape;
  shape.balancing = static_cast<Balancing>(random.below(kBalancingNames.size()));
  if (shape.balancing == Balancing::kFlowlet) {
    shape.flowlet_gap = nanos(1 + static_cast<int64_t>(random.below(1'000'000)));
  }
  if (random.below(3) > 0) {
    shape.buffer = {64'000'000 + random.below(64'000'000)};
    shape.alpha = 1 + static_cast<uint32_t>(random.below(8));
    shape.alpha_divisor = 1 + static_cast<uint32_t>(random.below(8));
    shape.reserve = {random.below(2) * 9'000};
  }
  shape.trims = random.below(2) == 0;
  return shape;
}

TEST(TopologyText, IsReadAsTheSameFabricWhateverItsShapes) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    LeafSpineShape form;
    form.leaves = 1 + static_cast<uint32_t>(random.below(3));
    form.spines = 1 + static_cast<uint32_t>(random.below(3));
    form.nics_per_host = 1 + static_cast<uint32_t>(random.below(2));
    Topology topology = leaf_spine(form);
    for (Link& link : topology.links) link.shape = any_link(random);
    for (Switch& each : topology.switches) each.shape = any_switch(random);
    expect_read_again(topology);
  }
}

TEST(TopologyText, KeepsTheLimitsOfLosslessSwitches) {
  Topology topology = leaf_spine({});
  for (Switch& each : topology.switches) {
    each.shape.buffer = mebibytes(64);
    each.shape.lossless = true;
    each.shape.xoff = kibibytes(200);
    each.shape.xon = kibibytes(150);
  }
  expect_read_again(topology);
  for (Switch& each : topology.switches) each.shape.xoff = each.shape.xon = {};
  expect_read_again(topology);
}

TEST(TopologyText, HostsWithoutASwitchAreCabledAsTheyWere) {
  expect_read_again(point_to_point({}));
}

}  // namespace
}  // namespace heddle::topology
