// What commands may get: names of hosts, placeholders, taints.
#include "steering/words.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::steering {
namespace {

TEST(WordsTest, NamesOfHostsAreNoOptionsAndNoShellText) {
  for (const char* const good : {"h1", "node-7.rack_2.example.com", "10.0.0.7", "7", "all1"}) {
    EXPECT_TRUE(is_host_name(good)) << good;
  }
  for (const char* const bad :
       {"",    "-f",  "a b", "a;b", "$(id)", "a\nb", "a/b", "a,b", "[1-9]", "a=b", "h\xc3\xa9",
        "all", "ALL", "All", "..",  ".",     "h1.",  ".h1", "_h1", "h1-",   "a..b"}) {
    EXPECT_FALSE(is_host_name(bad)) << bad;
  }
  EXPECT_FALSE(is_host_name(std::string("a\0b", 3)));
  EXPECT_FALSE(is_host_name(std::string(254, 'a')));
}

TEST(WordsTest, HostsAreAllowedByPatterns) {
  EXPECT_TRUE(is_allowed("h1", {}));
  EXPECT_TRUE(is_allowed("node12", {"h1", "node*"}));
  EXPECT_TRUE(is_allowed("gpu3", {"gpu[0-4]"}));
  EXPECT_FALSE(is_allowed("gpu7", {"gpu[0-4]", "h1"}));
  EXPECT_FALSE(is_allowed("h10", {"h1"}));
}

TEST(WordsTest, PlaceholdersBecomeHosts) {
  const auto filled = fill({"probe", "{host}:{peer}", "{x}"}, {.host = "h1", .peer = "h2"});
  ASSERT_TRUE(filled);
  EXPECT_EQ((*filled)[1], "h1:h2");
  EXPECT_FALSE(fill({"probe", "{peer}"}, {.host = "h1"}));
  EXPECT_EQ(unknown_placeholder("a{host}{node}"), "{node}");
  EXPECT_TRUE(has_placeholder("/opt/{peer}"));
  EXPECT_FALSE(has_placeholder("{x}"));
  EXPECT_EQ(unknown_placeholder("{} ${1} {peer} {"), "");
}

TEST(WordsTest, TaintsAreThoseOfKubectl) {
  const auto taint = parse_taint("example.com/fault=true:NoExecute");
  ASSERT_TRUE(taint);
  EXPECT_EQ(taint->key, "example.com/fault");
  EXPECT_EQ(taint->value, "true");
  EXPECT_EQ(taint->effect, "NoExecute");
  EXPECT_EQ(parse_taint("fault:PreferNoSchedule")->value, "");
  for (const char* const bad : {"fault", "fault=true", ":NoSchedule", "a=b c:NoSchedule",
                                "a=$(x):NoSchedule", "--all:NoSchedule", "a:NoSchedule-"}) {
    EXPECT_FALSE(parse_taint(bad)) << bad;
  }
}

}  // namespace
}  // namespace heddle::steering
