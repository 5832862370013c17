// Firewalls: rulesets as nft lists them, and what they may drop.
#include "acceptance/machine/firewall.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

std::string ruleset(const std::string& policy, const std::string& rules, const char* hook = "input",
                    const char* family = "inet") {
  return fmt::format(R"({{"nftables":[{{"metainfo":{{"version":"1.0.6"}}}},)"
                     R"({{"chain":{{"family":"{0}","table":"filter","name":"c",)"
                     R"("hook":"{1}","policy":"{2}"}}}}{3}]}})",
                     family, hook, policy, rules);
}

std::string rule(const std::string& port, const std::string& verdict) {
  return fmt::format(R"(,{{"rule":{{"family":"inet","table":"filter","chain":"c",)"
                     R"("expr":[{{"match":{{"op":"==",)"
                     R"("left":{{"payload":{{"protocol":"udp","field":"dport"}}}},"right":{}}}}},)"
                     R"({{"{}":null}}]}}}})",
                     port, verdict);
}

TEST(Firewall, WithoutRulesNothingIsDropped) {
  const auto firewall = firewall_of(R"({"nftables":[{"metainfo":{}}]})", "");
  ASSERT_TRUE(firewall);
  EXPECT_FALSE(may_drop(*firewall));
  EXPECT_EQ(firewall_text(firewall), "drops nothing by default");
}

TEST(Firewall, APolicyOfDropMayDropUntilThePortIsAccepted) {
  auto firewall = firewall_of(ruleset("drop", rule("22", "accept")), "");
  ASSERT_TRUE(firewall);
  EXPECT_TRUE(may_drop(*firewall));
  EXPECT_EQ(firewall_text(firewall), "drops on input by default");
  for (const char* const port : {"18700", R"({"range":[18000,19000]})", R"({"set":[22,18700]})",
                                 R"({"set":[{"range":[18700,18710]}]})"}) {
    firewall = firewall_of(ruleset("drop", rule(port, "accept")), "");
    EXPECT_FALSE(may_drop(*firewall)) << port;
  }
  EXPECT_EQ(firewall_text(firewall), "drops on input by default, accepts UDP 18700");
}

TEST(Firewall, ARuleThatDropsThePortMayDropWhateverThePolicyIs) {
  const auto firewall = firewall_of(ruleset("accept", rule("18700", "reject")), "");
  ASSERT_TRUE(firewall);
  EXPECT_TRUE(may_drop(*firewall));
  EXPECT_EQ(firewall_text(firewall), "drops nothing by default, drops UDP 18700");
}

// As firewalld makes it: the policy is accept, and what a zone has not accepted meets the last
// rule.
TEST(Firewall, ALastRuleThatRejectsWhateverReachesItIsAsAPolicyOfDrop) {
  const auto of_chain = [](const char* chain, const char* expression) {
    return fmt::format(
        R"(,{{"rule":{{"family":"inet","table":"filter","chain":"{}","expr":[{}]}}}})", chain,
        expression);
  };
  const std::string established = of_chain(
      "c",
      R"({"match":{"op":"in","left":{"ct":{"key":"state"}},"right":"invalid"}},{"drop":null})");
  const std::string zones = of_chain("c", R"({"jump":{"target":"filter_INPUT_ZONES"}})");
  const std::string rejects =
      of_chain("c", R"({"counter":null},{"reject":{"type":"icmpx","expr":"admin-prohibited"}})");
  auto firewall = firewall_of(ruleset("accept", established + zones + rejects), "");
  ASSERT_TRUE(firewall);
  EXPECT_TRUE(may_drop(*firewall));
  EXPECT_EQ(firewall_text(firewall), "drops on input by default");
  const std::string zone = of_chain(
      "filter_IN_public_allow",
      R"({"match":{"op":"==","left":{"payload":{"protocol":"udp","field":"dport"}},)"
      R"("right":18700}},)"
      R"({"match":{"op":"in","left":{"ct":{"key":"state"}},"right":{"set":["new","untracked"]}}},)"
      R"({"accept":null})");
  firewall = firewall_of(ruleset("accept", established + zones + zone + rejects), "");
  EXPECT_FALSE(may_drop(*firewall));
  firewall =
      firewall_of(ruleset("accept", established + of_chain("other", R"({"drop":null})")), "");
  EXPECT_FALSE(may_drop(*firewall));
  EXPECT_EQ(firewall->drop_rules, 2U);
}

TEST(Firewall, OfForwardedAndOtherChainsNothingIsSaidOfInput) {
  const auto forward = firewall_of(ruleset("drop", "", "forward"), "filter\n");
  EXPECT_FALSE(may_drop(*forward));
  EXPECT_EQ(firewall_text(forward),
            "drops on forward by default, rules of iptables-legacy that are not read");
  EXPECT_EQ(firewall_of(ruleset("drop", "", "input", "bridge"), ""), Firewall{});
  EXPECT_EQ(firewall_of(ruleset("drop", rule("18700", "drop"), "output"), ""), Firewall{});
}

TEST(Firewall, WhatIsNoRulesetIsNotKnown) {
  for (const char* const text : {"", "[]", "{}", R"({"nftables":1})", "Operation not permitted"}) {
    EXPECT_EQ(firewall_text(firewall_of(text, "")), "not known") << text;
  }
  EXPECT_TRUE(firewall_of(R"({"nftables":[1,{"chain":[]},{"rule":{"expr":{}}}]})", ""));
}

TEST(Firewall, IsReadAsItWasSent) {
  const auto firewall = firewall_of(ruleset("drop", rule("18700", "drop")), "filter\n");
  EXPECT_EQ(firewall_in(json_of(*firewall)), firewall);
  for (const char* const text : {"null", "{}", R"({"dropping":1,"drop_rules":1})"}) {
    EXPECT_FALSE(firewall_in(Json::parse(text))) << text;
  }
}

}  // namespace
}  // namespace heddle::acceptance
