// Bytes of traced paths on the links that they cross.
#include "apps/cli/matrix/traced_loads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "topology/generators.h"

namespace heddle::cli {
namespace {

using insight::Router;

// h0, h1 on leaf0, h2, h3 on leaf1; spine0, spine1.
topology::Topology fabric() { return topology::leaf_spine({}); }

constexpr uint64_t kV4 = 0xffff'0000'0000;

// What a lab's switch is called by: 10.255.S.1.
Router lab_router(uint64_t number) { return {0, kV4 | 0x0aff'0001 | number << 8}; }

insight::Traffic traffic_of(std::vector<Router> route, uint64_t bytes) {
  insight::Traffic traffic;
  traffic.parties = {{"rank 0", "h0"}, {"rank 1", "h3"}};
  traffic.routes = {std::move(route)};
  insight::Flow flow{.from = 0, .to = 1};
  flow.cell.wire_bytes = bytes;
  flow.route = 0;
  traffic.flows = {flow};
  return traffic;
}

TEST(TracedLoads, EveryLinkOfAPathCarriesItsBytes) {
  insight::Traffic traffic = traffic_of({lab_router(0), lab_router(3), lab_router(1)}, 500);
  insight::Flow untraced = traffic.flows.front();
  untraced.route = insight::kNoRoute;
  untraced.cell.wire_bytes = 7;
  traffic.flows.push_back(traffic.flows.front());
  traffic.flows.push_back(untraced);
  const TracedLoads loads = traced_loads(traffic, fabric(), lab_routers(fabric()));
  const LinkLoads expected = {{{"h0", "leaf0"}, 1000},
                              {{"leaf0", "spine1"}, 1000},
                              {{"spine1", "leaf1"}, 1000},
                              {{"leaf1", "h3"}, 1000}};
  EXPECT_EQ(loads.loads, expected);
  EXPECT_EQ(loads.traced_bytes, 1000u);
  EXPECT_EQ(loads.untraced_bytes, 7u);
}

TEST(TracedLoads, PathsWithARouterThatIsNotKnownAreNotTraced) {
  for (const Router& strange : {Router(0, 0), Router(0, 99), lab_router(1)}) {
    const insight::Traffic traffic = traffic_of({lab_router(0), strange, lab_router(1)}, 500);
    const TracedLoads loads = traced_loads(traffic, fabric(), lab_routers(fabric()));
    EXPECT_TRUE(loads.loads.empty());
    EXPECT_EQ(loads.untraced_bytes, 500u);
  }
}

TEST(TracedLoads, SwitchesOfALabAreKnownByBothAddresses) {
  const RouterNames names = lab_routers(fabric());
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(names.at(lab_router(2)), "spine0");
  EXPECT_EQ(names.at({0xfd00'00ff'0002'0000, 1}), "spine0");
}

class RoutersFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() / ("heddle-routers-" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Result<void> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_routers(path_, fabric(), names_);
  }
  std::string path_;
  RouterNames names_;
};

TEST_F(RoutersFile, NamesSwitchesByTheirAddresses) {
  ASSERT_TRUE(read("# loopbacks\n192.0.2.1 leaf0 leaf0.example\n\n192.0.2.9 printer\n"
                   "2001:db8::7\tspine1.example spine1 # far\n")
                  .has_value());
  const RouterNames expected = {{{0, kV4 | 0xc000'0201}, "leaf0"},
                                {{0x2001'0db8'0000'0000, 7}, "spine1"}};
  EXPECT_EQ(names_, expected);
}

TEST_F(RoutersFile, MistakesAreToldWithTheirLine) {
  EXPECT_NE(read("192.0.2.1 leaf0\n192.0.2.2\n").error().message().find(":2"), std::string::npos);
  EXPECT_NE(read("leaf0.invalid leaf0\n").error().message().find("is no address"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::cli
