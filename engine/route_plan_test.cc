// Plans of routes: what is read for this host, and how shares of routes become shares of the paths
// that discovery found on them.
#include "engine/route_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/addresses.h"

namespace heddle::engine {
namespace {

using transport::Address;
using transport::FabricRoutes;

constexpr const char* kPlan = R"({
  "version": 2,
  "addresses": {"h0": ["10.0.0.1"], "h1": ["10.0.1.1", "fd00:0:1::1"], "leaf0": ["10.255.0.1"],
                "leaf1": ["10.255.1.1"], "spine0": ["10.255.2.1"], "spine1": ["10.255.3.1"]},
  "flows": [
    {"from": "h0", "to": "h1", "paths": [
      {"path": 0, "share_per_million": 700000, "via": ["leaf0", "spine0", "leaf1"]},
      {"path": 3, "share_per_million": 250000, "via": ["leaf0", "spine1", "leaf1"]},
      {"path": 4, "share_per_million": 50000, "via": ["leaf0", "spine1", "leaf1"]}]},
    {"from": "h1", "to": "h0", "paths": []}]})";

Address at(const std::string& text) { return find_address(text, 0).value(); }

Result<RoutePlan> parsed(const std::string& text, const std::string& own = "10.0.0.1") {
  const std::vector<Address> addresses = {at("127.0.0.1"), at(own)};
  return RoutePlan::parse(text, "plan.json", addresses);
}

// Paths by the spines that they cross.
FabricRoutes found_over(const std::vector<std::string>& spines) {
  FabricRoutes found;
  found.hops = 3;
  for (size_t path = 0; path < spines.size(); ++path) {
    found.route_of.push_back(static_cast<uint16_t>(path));
    for (const std::string& router :
         {std::string("10.255.0.1"), spines[path], std::string("10.255.1.1")}) {
      found.routers.push_back(router.empty() ? transport::RouterAddress{} : at(router).host);
    }
  }
  return found;
}

TEST(RoutePlan, ADeepDocumentIsRefusedBeforeItIsBuilt) {
  const std::string deep = R"({"version": 2, "addresses": )" + std::string(200'000, '[') +
                           std::string(200'000, ']') + "}";
  const Result<RoutePlan> plan = parsed(deep);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().why.find("deeper than 16 levels"), std::string::npos);
}

TEST(RoutePlan, TwoHostsWithOneAddressAreRefusedByTheirNames) {
  std::string text = kPlan;
  const size_t at = text.find("10.0.1.1");
  text.replace(at, 8, "10.0.0.1");
  const Result<RoutePlan> plan = parsed(text);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().why.find("'h0' and 'h1' both have the address 10.0.0.1"),
            std::string::npos);
}

TEST(RoutePlan, SharesOfRoutesAreThoseOfTheirPaths) {
  const Result<RoutePlan> plan = parsed(kPlan);
  ASSERT_TRUE(plan.has_value());
  const std::vector<PlannedRoute>* routes = plan->find(at("10.0.1.1:4791"));
  ASSERT_NE(routes, nullptr);
  ASSERT_EQ(routes->size(), 2U);  // two paths of one route are one
  EXPECT_EQ(plan->find(at("[fd00:0:1::1]")), routes);
  EXPECT_EQ(plan->find(at("10.0.7.1")), nullptr);
  const FittedPlan fitted =
      plan->fit(*routes, found_over({"10.255.3.1", "10.255.2.1", "10.255.3.1", "10.9.9.9"}), 4);
  ASSERT_EQ(fitted.shares.size(), 3U);  // path 3 crosses something else
  EXPECT_EQ(fitted.routes, 2U);
  EXPECT_EQ(fitted.shares[0].path, 0);
  EXPECT_EQ(fitted.shares[0].share_per_million, 150'000U);
  EXPECT_EQ(fitted.shares[1].share_per_million, 700'000U);
  EXPECT_EQ(fitted.shares[2].share_per_million, 150'000U);
}

TEST(RoutePlan, APlanWithoutPathsOnItsRoutesDoesNotFit) {
  const Result<RoutePlan> plan = parsed(kPlan);
  ASSERT_TRUE(plan.has_value());
  const std::vector<PlannedRoute>& routes = *plan->find(at("10.0.1.1"));
  const FittedPlan fitted = plan->fit(routes, found_over({"10.255.2.1", "10.255.2.1"}), 2);
  EXPECT_TRUE(fitted.shares.empty());
  EXPECT_EQ(fitted.missing, "leaf0 spine1 leaf1");
  // A router that did not answer stands for none.
  EXPECT_TRUE(plan->fit(routes, found_over({"", ""}), 2).shares.empty());
}

// A cable that swallows packets changes no hash.
TEST(RoutePlan, SilentRoutersLeaveKnownRoutesAsTheyAre) {
  const FabricRoutes before = found_over({"10.255.2.1", "10.255.3.1", "10.255.2.1"});
  FabricRoutes cut = found_over({"10.255.2.1", "", "10.255.2.1"});
  EXPECT_TRUE(is_part_of(cut, before));
  EXPECT_FALSE(is_part_of(before, cut));
  EXPECT_FALSE(is_part_of(found_over({"10.255.3.1", "", "10.255.2.1"}), before));
  EXPECT_FALSE(is_part_of(found_over({"10.255.2.1", ""}), before)) << "other paths";
  cut.hops = 1;
  cut.routers.erase(cut.routers.begin() + 1, cut.routers.begin() + 3);
  cut.routers.erase(cut.routers.begin() + 2, cut.routers.begin() + 4);
  cut.routers.erase(cut.routers.begin() + 3, cut.routers.begin() + 5);
  EXPECT_TRUE(is_part_of(cut, before)) << "it ended at the first router";
  EXPECT_FALSE(is_part_of(before, cut)) << "it has more routers";
}

TEST(RoutePlan, OtherPlansAreRefused) {
  EXPECT_EQ(parsed(kPlan, "10.0.9.1").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(parsed("{}").error().code, ErrorCode::kVersion);
  EXPECT_EQ(parsed("[").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(parsed(R"({"version": 2, "flows": []})").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(parsed(R"({"version": 2, "addresses": {"h0": ["x"]}, "flows": []})").error().code,
            ErrorCode::kInvalid);
}

TEST(RoutePlan, SharesHaveTheSumThatPlansHave) {
  const auto error_of = [](const std::string& shares) {
    std::string text = kPlan;
    text.replace(text.find("700000"), 6, shares);
    const Result<RoutePlan> plan = parsed(text);
    return plan ? std::string() : plan.error().message();
  };
  EXPECT_EQ(error_of("700000"), "");
  EXPECT_NE(error_of("700001").find("sum is not 1000000"), std::string::npos);
  EXPECT_NE(error_of("0").find("a path without a share"), std::string::npos);
  EXPECT_NE(error_of("4294967295000").find("sum is not 1000000"), std::string::npos);
}

TEST(RoutePlan, FlowsOfSomethingElseThanTextAreNotThisHosts) {
  const auto plan = parsed(R"({"version": 2, "addresses": {"h0": ["10.0.0.1"]},
      "flows": [{"from": 7, "to": null, "paths": []}, {"from": "h0", "to": [], "paths": []}]})");
  EXPECT_TRUE(plan.has_value());
}

}  // namespace
}  // namespace heddle::engine
