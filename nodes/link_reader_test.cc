// The kernel's own answers, and messages of rtnetlink that are cut or claim too much.
#include "nodes/link_reader.h"

#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>

namespace heddle::nodes {
namespace {

TEST(LinkReader, LoopbackIsThere) {
  Result<LinkReader> reader = LinkReader::open();
  if (!reader) GTEST_SKIP() << reader.error().message();
  const auto links = reader->read();
  ASSERT_TRUE(links) << links.error().message();
  EXPECT_TRUE(std::any_of(links->begin(), links->end(),
                          [](const LinkState& each) { return each.is_loopback; }));
  EXPECT_EQ(reader->speed_of("no such interface"), 0u);
  EXPECT_EQ(reader->read()->size(), links->size());  // a second answer is whole too
}

std::vector<std::byte> message(uint16_t type, const char* name) {
  struct {
    nlmsghdr header{};
    ifinfomsg about{};
    rtattr attribute{};
    char name[16] = {};
  } made;
  made.header.nlmsg_len = sizeof made;
  made.header.nlmsg_type = type;
  made.about.ifi_index = 7;
  made.about.ifi_flags = IFF_UP | IFF_RUNNING;
  made.attribute.rta_type = IFLA_IFNAME;
  made.attribute.rta_len = sizeof(rtattr) + sizeof made.name;
  std::strncpy(made.name, name, sizeof made.name - 1);
  std::vector<std::byte> bytes(sizeof made);
  std::memcpy(bytes.data(), &made, sizeof made);
  return bytes;
}

TEST(LinkReader, ARemovedLinkIsNotUp) {
  bool done = true;
  const auto there = parse_links(message(RTM_NEWLINK, "eth0"), done);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].name, "eth0");
  EXPECT_EQ(there[0].index, 7);
  EXPECT_TRUE(there[0].up);
  EXPECT_FALSE(there[0].is_removed);
  EXPECT_FALSE(done);
  const auto gone = parse_links(message(RTM_DELLINK, "eth0"), done);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_FALSE(gone[0].up);
  EXPECT_TRUE(gone[0].is_removed);
}

TEST(LinkReader, LoopbackHasAnAddress) {
  EXPECT_TRUE(LinkReader::has_address("lo"));
  EXPECT_FALSE(LinkReader::has_address("no such interface"));
}

TEST(LinkReader, CutMessagesAreLeftOut) {
  bool done = false;
  const std::vector<std::byte> whole = message(RTM_NEWLINK, "eth0");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_TRUE(parse_links(std::span(whole).first(bytes), done).empty()) << bytes;
  }
  std::vector<std::byte> claims = whole;
  rtattr attribute{.rta_len = 60'000, .rta_type = IFLA_IFNAME};
  std::memcpy(claims.data() + sizeof(nlmsghdr) + sizeof(ifinfomsg), &attribute, sizeof attribute);
  EXPECT_TRUE(parse_links(claims, done).empty());
}

}  // namespace
}  // namespace heddle::nodes
