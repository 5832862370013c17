// Sums of a machine's events, as Prometheus reads them.
#include "monitor/node_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "metrics/exposition.h"

namespace heddle::monitor {
namespace {

using events::Text;
using ::testing::HasSubstr;
using ::testing::Not;

bool all_have(const std::string& /*interface*/) { return true; }

events::NicSampled nic_named(const std::string& interface) {
  events::NicSampled nic;
  nic.interface = Text(interface);
  nic.sent_packets = 1;
  return nic;
}

std::string page_of(const NodeTotals& totals) {
  const auto text = metrics::exposition_of(totals.families());
  EXPECT_TRUE(text);
  return text ? *text : std::string();
}

TEST(NodeTotals, EventsAddUp) {
  NodeTotals totals("h1", false, all_have);
  events::NicSampled nic;
  nic.interface = Text("eth0");
  nic.received_drops = 7;
  nic.carrier = true;
  nic.speed_mbits_per_s = 100'000;
  totals.on(nic);
  totals.on(nic);
  totals.on(events::NicLinkChanged{{}, Text("eth0"), false});
  events::RdmaPortSampled port;
  port.device = Text("mlx5_0");
  port.port = 1;
  port.out_of_sequence = 3;
  totals.on(port);
  events::NodeSampled node;
  node.memory_stall = millis(1500);
  totals.on(node);
  const auto xid = events::KernelMessageClass::kGpuXid;
  totals.on(events::KernelMessage{{}, xid, 3, 79, Text("0000:3b:00"), {}});
  const auto text = metrics::exposition_of(totals.families());
  ASSERT_TRUE(text) << text.error().message();
  for (const char* line : {
           R"(heddle_node_kernel_log_readable{host="h1"} 0)",
           R"(heddle_node_interface_received_drops_total{host="h1",interface="eth0"} 14)",
           R"(heddle_node_interface_up{host="h1",interface="eth0"} 0)",
           R"(heddle_node_interface_speed_bits_per_second{host="h1",interface="eth0"} )"
           "100000000000",
           R"({counter="out_of_sequence",device="mlx5_0",host="h1",port="1"} 3)",
           R"(heddle_node_stall_seconds_total{host="h1",resource="memory"} 1.5)",
           R"(heddle_node_kernel_messages_total{class="gpu_xid",host="h1"} 1)",
           R"(heddle_node_kernel_messages_total{class="thermal",host="h1"} 0)",
           R"(heddle_node_gpu_xids_total{gpu="0000:3b:00",host="h1",xid="79"} 1)",
       }) {
    EXPECT_THAT(*text, HasSubstr(line));
  }
}

// A failing machine, or a user who writes lines, must not fill Prometheus.
TEST(NodeTotals, XidsHaveABound) {
  NodeTotals totals("h1", true, all_have);
  for (uint32_t i = 0; i < 10'000; ++i) {
    totals.on(events::KernelMessage{{}, events::KernelMessageClass::kGpuXid, 3, i, {}, {}});
  }
  const auto text = metrics::exposition_of(totals.families());
  ASSERT_TRUE(text);
  EXPECT_LT(text->size(), 100'000u);
  EXPECT_THAT(*text, HasSubstr(R"(class="gpu_xid",host="h1"} 10000)"));
}

// Pods come and go, each with an interface of its own.
TEST(NodeTotals, InterfacesOfPodsAndRemovedOnesAreNotKept) {
  std::set<std::string> hardware = {"eth0", "eth1"};
  NodeTotals totals("h1", true, [&](const std::string& each) { return hardware.contains(each); });
  totals.on(nic_named("eth0"));
  totals.on(nic_named("eth1"));
  for (int pod = 0; pod < 1000; ++pod) {
    totals.on(nic_named("veth" + std::to_string(pod)));
    totals.on(events::NicLinkChanged{{}, Text("veth" + std::to_string(pod)), false});
  }
  EXPECT_THAT(page_of(totals), Not(HasSubstr("veth")));
  hardware.erase("eth1");
  totals.on(events::NodeSampled{});
  EXPECT_THAT(page_of(totals), HasSubstr("eth0"));
  EXPECT_THAT(page_of(totals), Not(HasSubstr("eth1")));
}

TEST(NodeTotals, InterfacesHaveABound) {
  NodeTotals totals("h1", true, all_have);
  for (int i = 0; i < 10'000; ++i) totals.on(nic_named("eth" + std::to_string(i)));
  EXPECT_LT(page_of(totals).size(), 200'000u);
}

}  // namespace
}  // namespace heddle::monitor
