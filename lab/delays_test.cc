// Delayed links of a lab: which links are cut, their limits, and the input for ip and tc.
#include "lab/delays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/batches.h"
#include "lab/params.h"
#include "topology/generators.h"

namespace heddle::lab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

topology::Topology cable(Nanos delay, BitsPerSec rate = gigabits_per_s(1)) {
  return topology::point_to_point({.rate = rate, .delay = delay, .mtu_bytes = 1500});
}

TEST(DelaysTest, OnlySupportedDelaysCutALink) {
  EXPECT_THAT(delayed_links(cable(topology::LinkShape{}.delay)), IsEmpty());
  EXPECT_THAT(delayed_links(cable(params::kLeastDelay - nanos(1))), IsEmpty());
  EXPECT_EQ(delayed_links(cable(params::kLeastDelay)).size(), 1u);
  EXPECT_EQ(delay_netns(*make_layout("test", cable(micros(1)))), "");
  EXPECT_EQ(delay_netns(*make_layout("test", cable(millis(1)))), "heddle.test._delay");
}

TEST(DelaysTest, ALinkHoldsAtLeastItsBandwidthDelayProduct) {
  for (const Nanos delay : {micros(50), millis(1), millis(5), millis(100)}) {
    for (const BitsPerSec rate : {megabits_per_s(10), gigabits_per_s(1), gigabits_per_s(10)}) {
      const std::vector<DelayedLink> links = delayed_links(cable(delay, rate));
      ASSERT_EQ(links.size(), 1u);
      EXPECT_GE(links[0].in_flight.count, bytes_within(delay, rate).count);
      EXPECT_GE(links[0].largest_frame, 1'514u);
    }
  }
}

TEST(DelaysTest, ACutLinkIsTwoCablesThatMeetInTheMiddle) {
  const Layout layout = *make_layout("test", cable(millis(1)));
  const std::string text = cable_batch(layout);
  EXPECT_THAT(text, HasSubstr("name nic0 netns heddle.test.h0 mtu 1500"));
  EXPECT_THAT(text, HasSubstr("peer name cut0a netns heddle.test._delay mtu 1500\n"));
  EXPECT_THAT(text, HasSubstr("peer name cut0b netns heddle.test._delay mtu 1500\n"));
  EXPECT_THAT(namespace_batch(layout), HasSubstr("netns add heddle.test._delay\n"));
  EXPECT_THAT(namespace_batch(*make_layout("test", cable(micros(1)))), Not(HasSubstr("_delay")));
}

TEST(DelaysTest, NetemDelaysBothDirections) {
  const std::string text = netem_batch(delayed_links(cable(micros(1'500))));
  EXPECT_THAT(text, HasSubstr("qdisc replace dev cut0a root netem delay 1500us limit "));
  EXPECT_THAT(text, HasSubstr("qdisc replace dev cut0b root netem delay 1500us limit "));
  const std::string filter = pass_on_filter(delayed_links(cable(micros(1'500))));
  EXPECT_THAT(filter, HasSubstr("rule netdev heddle pass_cut0a fwd to \"cut0b\"\n"));
  EXPECT_THAT(filter, HasSubstr("rule netdev heddle pass_cut0b fwd to \"cut0a\"\n"));
}

TEST(DelaysTest, RatesAboveTheForwardersLimitsGiveNotes) {
  const auto notes = [](const topology::Topology& topology) {
    return delay_notes(topology, DelayMethod::kForwarder);
  };
  EXPECT_THAT(notes(cable(millis(1), kTrueRate)), IsEmpty());
  EXPECT_THAT(notes(cable(millis(1), {kTrueRate.count + 1})),
              ElementsAre(HasSubstr("are true up to")));
  EXPECT_THAT(notes(cable(millis(1), {})), ElementsAre(HasSubstr("are true up to")));
  EXPECT_THAT(delay_notes(cable(millis(1), {}), DelayMethod::kNetem), IsEmpty());
  EXPECT_THAT(notes(cable(micros(10))), ElementsAre(HasSubstr("below 50 us are not made")));
}

}  // namespace
}  // namespace heddle::lab
