// How two and eight flows of one controller share a link, from 10 us to 2 ms and from 0.2 to 100
// Gb/s: fairly (Jain's index), without leaving the link idle, and, where the controller promises
// it, with a short queue.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "transport/congestion/bottleneck_model.h"
#include "transport/congestion/registry.h"

namespace heddle::transport::model {
namespace {

// A link, and how long it takes to judge it.
struct Link {
  const char* name;
  BitsPerSec rate;
  Nanos base_rtt;
  Bytes buffer;
  Bytes mark_above;  // for controllers that look at marks
  Bytes segment;
  Nanos duration;  // the second half is measured
};

constexpr Link kLinks[] = {
    {"10G_20us",
     gigabits_per_s(10),
     micros(20),
     kibibytes(512),
     kibibytes(64),
     {1500},
     millis(600)},
    {"10G_100us",
     gigabits_per_s(10),
     micros(100),
     kibibytes(512),
     kibibytes(64),
     {1500},
     millis(600)},
    {"1G_200us", gigabits_per_s(1), micros(200), kibibytes(256), kibibytes(30), {1500}, seconds(2)},
    {"100G_20us_jumbo",
     gigabits_per_s(100),
     micros(20),
     mebibytes(4),
     kibibytes(400),
     {9000},
     millis(400)},
    {"10G_2ms_jumbo",
     gigabits_per_s(10),
     millis(2),
     mebibytes(4),
     kibibytes(500),
     {9000},
     seconds(6)},
    {"200M_2ms", megabits_per_s(200), millis(2), kibibytes(128), kibibytes(30), {1400}, seconds(6)},
};

struct Case {
  const Link* link;
  std::string_view controller;
  uint32_t flows;
  bool one_by_one;  // flows join while others fill the link
};

std::string text_of(const Case& c) {
  return std::string(c.controller) + "_" + c.link->name + "_" + std::to_string(c.flows) +
         (c.one_by_one ? "_one_by_one" : "_together");
}

// For GoogleTest, which else prints the bytes.
void PrintTo(const Case& c, std::ostream* out) { *out << text_of(c); }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Link& link : kLinks) {
    for (const std::string_view name : controller_names()) {
      for (const uint32_t flows : {2u, 8u}) {
        for (const bool one_by_one : {false, true}) all.push_back({&link, name, flows, one_by_one});
      }
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& instance) {
  return text_of(instance.param);
}

BottleneckResult run(const Case& c, uint64_t seed, Nanos jitter) {
  const Link& link = *c.link;
  BottleneckOptions options{.rate = link.rate,
                            .base_rtt = link.base_rtt,
                            .buffer = link.buffer,
                            .segment = link.segment,
                            .jitter = jitter,
                            .seed = seed};
  if (c.controller == "dctcp") options.mark_above = link.mark_above;
  std::vector<FlowOptions> flows;
  const Nanos apart = c.one_by_one ? link.duration / 40 : micros(1);
  for (uint32_t i = 0; i < c.flows; ++i) {
    flows.push_back({.controller = std::string(c.controller), .start = apart * i});
  }
  return run_bottleneck(options, flows, link.duration / 2, link.duration);
}

class Convergence : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Links, Convergence, testing::ValuesIn(cases()), name_of);

// The longest mean queue that a controller may keep: Swift what its target allows, a quarter more
// for small windows; DCTCP the marking threshold; both a segment or two of each flow besides; CUBIC
// the buffer.
Nanos queue_allowed(const Case& c) {
  const Link& link = *c.link;
  const Nanos segments = 2 * int64_t{c.flows} * transmit_time(link.segment, link.rate);
  if (c.controller == "swift") {
    return std::max(micros(25), link.base_rtt / 2) * 5 / 4 + segments;
  }
  return transmit_time(c.controller == "dctcp" ? link.mark_above : link.buffer, link.rate) +
         segments;
}

TEST_P(Convergence, SharesFairlyKeepsTheLinkBusyAndTheQueueShort) {
  const Case& c = GetParam();
  for (const uint64_t seed : {1, 2}) {
    const BottleneckResult result = run(c, seed, micros(2));
    EXPECT_GE(result.jain_index(), 0.95) << "seed " << seed;
    EXPECT_GE(result.utilization, 0.95) << "seed " << seed;
    EXPECT_LE(result.mean_queue, queue_allowed(c)) << "seed " << seed;
    if (c.controller == "dctcp") {
      for (const FlowResult& flow : result.flows) EXPECT_EQ(flow.dropped_segments, 0u);
    }
  }
}

// What a reader of the numbers above wants to know of the model: it is not fair by construction.
TEST(BottleneckModel, GivesAllToTheOnlyFlowAndIsUnfairToAFlowThatJustJoined) {
  const Link& link = kLinks[0];
  BottleneckOptions options{.rate = link.rate, .base_rtt = link.base_rtt, .buffer = link.buffer};
  const BottleneckResult alone =
      run_bottleneck(options, {{.controller = "cubic"}}, millis(50), millis(100));
  EXPECT_GE(alone.utilization, 0.99);
  EXPECT_LE(alone.utilization, 1.001);
  const BottleneckResult late = run_bottleneck(
      options, {{.controller = "cubic"}, {.controller = "cubic", .start = millis(99)}}, millis(50),
      millis(100));
  EXPECT_LT(late.jain_index(), 0.6);
}

TEST(BottleneckModel, DropsMarksAndLosesAsTold) {
  BottleneckOptions options{.rate = gigabits_per_s(1), .buffer = {30'000}};
  const BottleneckResult full = run_bottleneck(options, {{.controller = "cubic"}}, {}, millis(200));
  EXPECT_GT(full.flows[0].dropped_segments, 0u);
  EXPECT_EQ(full.flows[0].marked_segments, 0u);
  EXPECT_LE(full.longest_queue, transmit_time({30'000}, options.rate));

  options.mark_above = {15'000};
  const BottleneckResult marking =
      run_bottleneck(options, {{.controller = "cubic"}}, {}, millis(200));
  EXPECT_GT(marking.flows[0].marked_segments, 0u);

  options = {.rate = gigabits_per_s(1), .buffer = mebibytes(64), .drop_per_million = 10'000};
  const BottleneckResult lossy =
      run_bottleneck(options, {{.controller = "swift"}}, {}, millis(500));
  const double sent = double(lossy.flows[0].delivered_bytes) / 1'500;
  EXPECT_NEAR(double(lossy.flows[0].dropped_segments) / sent, 0.01, 0.005);
}

TEST(BottleneckModel, ReplaysFromItsSeed) {
  const auto deliveries = [](uint64_t seed) {
    std::vector<uint64_t> bytes;
    const Case c{&kLinks[1], "cubic", 8, true};
    for (const FlowResult& flow : run(c, seed, micros(20)).flows)
      bytes.push_back(flow.delivered_bytes);
    return bytes;
  };
  EXPECT_EQ(deliveries(3), deliveries(3));
  EXPECT_NE(deliveries(3), deliveries(4));
}

// Hosts are not clocks: returns that come up to a whole round trip late cost Swift throughput, not
// fairness.
TEST(Convergence, SwiftEnduresJitterOfARoundTrip) {
  for (const uint32_t flows : {2u, 8u}) {
    const BottleneckResult result = run({&kLinks[0], "swift", flows, true}, 1, micros(20));
    EXPECT_GE(result.jain_index(), 0.95);
    EXPECT_GE(result.utilization, 0.8);
  }
}

// A flow that has the link for itself again takes it.
TEST(Convergence, ASurvivorTakesWhatTheOthersLeave) {
  for (const std::string_view name : controller_names()) {
    BottleneckOptions options{.mark_above = kibibytes(100)};
    std::vector<FlowOptions> flows(4, {.controller = std::string(name), .stop = millis(100)});
    flows[0].stop = Nanos::never();
    const BottleneckResult result = run_bottleneck(options, flows, millis(200), millis(300));
    EXPECT_GE(result.utilization, 0.9) << name;
  }
}

}  // namespace
}  // namespace heddle::transport::model
