// NIC pairs: which NICs are tested together.
#include "acceptance/stages/nic_pairs.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(NicPairs, NicsOfTheSameNameMeetAndTheFirstOnesHaveMetBefore) {
  const std::vector<std::vector<HostNic>> nics = {
      {{"eth0", "10.0.0.1", true}, {"eth1", "10.1.0.1", true}},
      {{"eth0", "10.0.0.2", true}, {"eth1", "10.1.0.2", true}, {"eth2", "10.2.0.2", true}},
      {{"eth1", "10.1.0.3", true}, {"eth0", "10.0.0.3", true}},
  };
  const auto pairs = nic_pairs(nics, {{0, 1}, {0, 2}});
  ASSERT_EQ(pairs.size(), 2U);
  ASSERT_EQ(pairs.at("eth1").size(), 2U);
  EXPECT_EQ(pairs.at("eth1")[0].from.address, "10.1.0.1");
  EXPECT_EQ(pairs.at("eth1")[0].to.address, "10.1.0.2");
  ASSERT_EQ(pairs.at("eth0").size(), 1U) << "of the third host it is not the first";
  EXPECT_EQ(pairs.at("eth0")[0].to.address, "10.0.0.3");
  EXPECT_EQ(pairs.at("eth1")[0].pair.nics.from, 1U);
  EXPECT_EQ(pairs.at("eth1")[1].pair.nics.to, 0U);
}

TEST(NicPairs, HostsThatLackAFurtherNicOfAnotherAreListed) {
  const std::vector<std::vector<HostNic>> nics = {
      {{"eth0", "10.0.0.1", true}, {"eth1", "10.1.0.1", true}, {"eth2", "10.2.0.1", true}},
      {{"ens3", "10.0.0.2", true}, {"eth1", "10.1.0.2", true}},
      {{"eth0", "10.0.0.3", true}},
  };
  const std::map<std::string, std::vector<uint32_t>> lacking = {{"eth1", {2}}, {"eth2", {1, 2}}};
  EXPECT_EQ(hosts_without_nic(nics), lacking) << "first NICs meet by whatever name";
}

TEST(NicPairs, AnAddressThatBothHostsHaveIsTheirOwn) {
  const std::vector<std::vector<HostNic>> nics = {
      {{"eth0", "10.0.0.1", true}, {"usb0", "169.254.1.1", false}},
      {{"eth0", "10.0.0.2", true}, {"usb0", "169.254.1.1", false}},
      {{"eth0", "10.0.0.3", true}},
  };
  EXPECT_TRUE(nic_pairs(nics, {{0, 1}, {1, 0}, {0, 2}}).empty());
}

}  // namespace
}  // namespace heddle::acceptance
