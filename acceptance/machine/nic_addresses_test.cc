// NIC addresses: which NICs of a machine others may reach.
#include "acceptance/machine/nic_addresses.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"

namespace heddle::acceptance {
namespace {

namespace fs = std::filesystem;

// As `ip -j address` writes it, in parts.
const char* const kDevices = R"([
  {"ifname":"lo","addr_info":[{"local":"127.0.0.1","scope":"host"}]},
  {"ifname":"eth0","addr_info":[{"local":"10.0.0.1","scope":"global"},
    {"local":"fd00::1","scope":"global"},{"local":"fd00::9","scope":"global","temporary":true},
    {"local":"fe80::1","scope":"link"}]},
  {"ifname":"eth1","addr_info":[{"local":"10.1.0.1","scope":"global"}]},
  {"ifname":"eth2","master":"bond0","addr_info":[{"local":"10.2.0.1","scope":"global"}]},
  {"ifname":"usb0","addr_info":[{"local":"169.254.1.2","scope":"global"}]},
  {"ifname":"docker0","addr_info":[{"local":"172.17.0.1","scope":"global"}]},
  {"ifname":"net0","link_index":9,"addr_info":[{"local":"10.8.0.1","scope":"global"}]},
  {"ifname":"net1","link":"eth1","addr_info":[{"local":"10.9.0.1","scope":"global"}]},
  {"ifname":"bond0","addr_info":[{"local":"10.7.0.1","scope":"global"}]}])";

class NicAddresses : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* const name : {"eth0", "eth1", "eth2", "usb0"}) {
      fs::create_directories(sys() / "class/net" / name / "device");
    }
  }
  fs::path sys() const { return folder_.path(); }

  std::vector<NicAddress> of(const std::string& tested) const {
    return nic_addresses(Json::parse(kDevices), sys(), tested);
  }

 private:
  TemporaryFolder folder_ = std::move(*TemporaryFolder::make("heddle-addresses-test"));
};

TEST_F(NicAddresses, OfNicsWithHardwareWhereTheTestedOneHasIt) {
  const std::vector<NicAddress> all = of("eth0");
  EXPECT_EQ(all, (std::vector<NicAddress>{
                     {"eth0", "10.0.0.1"}, {"eth0", "fd00::1"}, {"eth1", "10.1.0.1"}}));
  EXPECT_EQ(nic_addresses_in(json_of(all), IpVersion::k6),
            (std::vector<NicAddress>{{"eth0", "fd00::1"}}));
}

TEST_F(NicAddresses, OfVirtualOnesThatLeadOutWhereTheTestedOneIsVirtual) {
  EXPECT_EQ(of("net0"), (std::vector<NicAddress>{{"net0", "10.8.0.1"}, {"net1", "10.9.0.1"}}));
  EXPECT_EQ(of("bond0").back(), (NicAddress{"bond0", "10.7.0.1"}));
}

TEST_F(NicAddresses, TheDeviceOfAnAddressIsFound) {
  EXPECT_EQ(device_with(Json::parse(kDevices), "fd00::1"), "eth0");
  EXPECT_EQ(device_with(Json::parse(kDevices), "10.0.0.2"), "");
  for (const char* const odd : {"7", "{}", "[7]", R"([{"addr_info":7}])", R"([{"ifname":7}])"}) {
    EXPECT_EQ(device_with(Json::parse(odd), "10.0.0.1"), "") << odd;
    EXPECT_TRUE(nic_addresses(Json::parse(odd), sys(), "eth0").empty()) << odd;
    EXPECT_TRUE(nic_addresses_in(Json::parse(odd), IpVersion::k4).empty()) << odd;
  }
}

// It becomes a word of commands on other machines.
TEST_F(NicAddresses, WhatIsNoAddressIsLeftOut) {
  Json document = Json::array();
  for (const char* const address : {"--listen", "h1", "10.0.0.1 x", "$(id)", "", "7", "::1\n"}) {
    document.push_back({{"device", "eth0"}, {"address", address}});
  }
  document.push_back({{"device", "a\nb"}, {"address", "10.0.0.1"}});
  EXPECT_TRUE(nic_addresses_in(document, IpVersion::k4).empty());
  EXPECT_TRUE(nic_addresses_in(document, IpVersion::k6).empty());
}

}  // namespace
}  // namespace heddle::acceptance
