// Addresses of machines: which IP version is tested, and what is refused.
#include "acceptance/machine_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// By name, as a name service knows them.
using Names = std::map<std::string, std::vector<std::string>>;

Result<MachineAddresses> choose(const Names& names, const std::vector<std::string>& hosts) {
  std::vector<launch::RemoteHost> asked;
  for (const std::string& host : hosts) asked.push_back({host, host});
  return choose_addresses(asked, [&names](const std::string& name, IpVersion version) {
    std::vector<std::string> addresses;
    const auto found = names.find(name);
    if (found == names.end()) return addresses;
    for (const std::string& each : found->second) {
      if (version_of(each) == version) addresses.push_back(each);
    }
    return addresses;
  });
}

TEST(MachineAddressesTest, Ipv4IsTestedWithoutAWordWhereThereIsNothingElse) {
  const auto chosen = choose({{"a", {"10.0.0.1", "10.0.0.9"}}, {"b", {"10.0.0.2"}}}, {"a", "b"});
  ASSERT_TRUE(chosen);
  EXPECT_THAT(chosen->addresses, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_EQ(chosen->note, "");
}

TEST(MachineAddressesTest, MachinesWithIpv6AloneAreTestedOverIt) {
  const auto chosen = choose({{"a", {"fd00::1"}}, {"b", {"fe80::2", "fd00::2"}}}, {"a", "b"});
  ASSERT_TRUE(chosen) << chosen.error().message();
  EXPECT_THAT(chosen->addresses, ElementsAre("fd00::1", "fd00::2"));
  EXPECT_EQ(chosen->version, IpVersion::k6);
  EXPECT_THAT(chosen->note, HasSubstr("IPv6 is tested: no machine has an IPv4 address"));
}

TEST(MachineAddressesTest, WhichOneIsTestedIsSaidWhereMachinesHaveBoth) {
  const Names names = {{"a", {"10.0.0.1", "fd00::1"}},
                       {"b", {"10.0.0.2", "fd00::2"}},
                       {"c", {"10.0.0.3"}},
                       {"d", {"fd00::4"}}};
  const auto all = choose(names, {"a", "b"});
  EXPECT_THAT(all->addresses, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_THAT(all->note, HasSubstr("IPv4 is tested; 2 of 2 machines have IPv6 addresses too"));
  EXPECT_THAT(choose(names, {"a", "c"})->note, HasSubstr("1 of 2 machines"));
  const auto six = choose(names, {"a", "d"});
  EXPECT_THAT(six->addresses, ElementsAre("fd00::1", "fd00::4"));
  EXPECT_EQ(six->note, "IPv6 is tested: d has no IPv4 address by its name");
}

TEST(MachineAddressesTest, MachinesThatHaveNoVersionInCommonAreRefusedByName) {
  const auto chosen = choose({{"a", {"10.0.0.1"}}, {"b", {"fd00::2"}}}, {"a", "b"});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(
      chosen.error().message(),
      "cannot test b with a: b has an IPv6 address alone, fd00::2, and a an IPv4 address "
      "alone, 10.0.0.1 (write NAME=ADDRESS with addresses of one IP version for all machines)");
}

// A name that is this machine's own is in /etc/hosts with a loopback address, which is every
// machine's.
TEST(MachineAddressesTest, ALoopbackAddressOfANameIsRefusedAndOneThatIsWrittenIsTaken) {
  for (const char* const address : {"127.0.1.1", "::1"}) {
    const auto chosen = choose({{"a", {address}}}, {"a"});
    ASSERT_FALSE(chosen);
    EXPECT_THAT(chosen.error().message(), HasSubstr(std::string("the name is ") + address));
    EXPECT_THAT(choose({{address, {address}}}, {address})->addresses, ElementsAre(address));
  }
  EXPECT_THAT(choose({{"a", {"127.0.1.1", "fd00::1"}}}, {"a"})->addresses, ElementsAre("fd00::1"));
}

TEST(MachineAddressesTest, ALinkLocalAddressIsRefusedAsSuch) {
  const auto chosen = choose({{"a", {"fe80::1%2"}}}, {"a"});
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message(),
              HasSubstr("fe80::1%2 is a link-local address, which holds on one link alone"));
}

TEST(MachineAddressesTest, AnUnknownNameIsRefusedAndBracketsAreNoneOfTheAddress) {
  const auto chosen = choose({}, {"nowhere"});
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(choose({{"fd00::1", {"fd00::1"}}}, {"[fd00::1]"})->addresses, ElementsAre("fd00::1"));
  const auto loopback = choose({{"0:0:0:0:0:0:0:1", {"::1"}}}, {"0:0:0:0:0:0:0:1"});
  ASSERT_TRUE(loopback) << loopback.error().message();
  EXPECT_THAT(loopback->addresses, ElementsAre("::1"));
  // Nothing was looked up, so nothing is said of what the names have.
  EXPECT_EQ(loopback->note, "IPv6 is tested: IPv6 addresses are given");
}

TEST(MachineAddressesTest, TheNameServiceGivesOneOfEachAndNoIpv4AsIpv6) {
  EXPECT_THAT(addresses_by_name_service("10.0.0.1", IpVersion::k4), ElementsAre("10.0.0.1"));
  EXPECT_THAT(addresses_by_name_service("10.0.0.1", IpVersion::k6), IsEmpty());
  EXPECT_THAT(addresses_by_name_service("FD00:0:0::01", IpVersion::k6), ElementsAre("fd00::1"));
}

}  // namespace
}  // namespace heddle::acceptance
