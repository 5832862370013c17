// The file of a measured network: what is written is read, and figures out of bounds are refused.
#include "nccl/measured_network.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::nccl {
namespace {

constexpr MeasuredNetwork kUsual = {
    .goodput = {38'214'000'000}, .connection_goodput = {9'500'000'000}, .one_way = {21'500}};

TEST(MeasuredNetwork, WhatIsWrittenIsRead) {
  const auto read = parse_network(network_text(kUsual, "heddle perf \"node\\2\"\n"), "n.toml");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, kUsual);
}

TEST(MeasuredNetwork, TheGoodputOfAConnectionMayBeUnknown) {
  MeasuredNetwork network = kUsual;
  network.connection_goodput = {};
  const auto read = parse_network(network_text(network, ""), "n.toml");
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(*read, network);
}

struct Refused {
  const char* text;
  const char* place;
  const char* why;
};

TEST(MeasuredNetwork, AFigureThatNoNetworkHasIsRefusedWithItsPlace) {
  const Refused cases[] = {
      {"x = 1\n", "n.toml:1", "no table [network]"},
      {"network = 3\n", "n.toml:1", "no table [network]"},
      {"[network]\none_way_ns = 5000\n", "n.toml:1", "goodput of a node"},
      {"[network]\ngoodput_kbits_per_s = 1000000\n", "n.toml:1", "one-way"},
      {"\n[network]\ngoodput_kbits_per_s = -4\n", "n.toml:3", "no positive whole number"},
      {"[network]\ngoodput_kbits_per_s = 1.5\n", "n.toml:2", "no positive whole number"},
      {"[network]\ngoodput_kbits_per_s = 9223372036854775807\none_way_ns = 5000\n", "n.toml:1",
       "100 Tb/s"},
      {"[network]\ngoodput_kbits_per_s = 1000\nconnection_goodput_kbits_per_s = 1001\n"
       "one_way_ns = 5000\n",
       "n.toml:1", "above that of its node"},
      {"[network]\ngoodput_kbits_per_s = 1000\none_way_ns = 2000000000\n", "n.toml:1", "1 s"},
      {"[network]\ngoodput_mbits = 3\n", "n.toml:2", "'goodput_mbits' is no key"},
  };
  for (const Refused& each : cases) {
    const auto read = parse_network(each.text, "n.toml");
    ASSERT_FALSE(read.has_value()) << each.text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
    EXPECT_NE(read.error().what.find(each.place), std::string::npos) << read.error().message();
    EXPECT_NE(read.error().why.find(each.why), std::string::npos) << read.error().message();
  }
}

TEST(MeasuredNetwork, TextThatIsNoTomlAndAFileThatIsNotThereAreErrors) {
  const auto damaged = parse_network("[network\n", "n.toml");
  ASSERT_FALSE(damaged.has_value());
  EXPECT_NE(damaged.error().message().find("n.toml"), std::string::npos);
  const auto absent = read_network("/nonexistent/n.toml");
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace heddle::nccl
