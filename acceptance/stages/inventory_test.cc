// Stage inventory: which ports are judged by the plan.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

// Rows of the check "port rate" of hosts whose links are planned with 100 Mbit/s.
std::vector<Row> rate_rows(const std::vector<double>& rates, bool planned = true) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.planned = planned;
  for (uint32_t host = 0; host < rates.size(); ++host) {
    fabric.facts.places.push_back({"h" + std::to_string(host),
                                   false,
                                   {{"nic0", host, true, true, 1500, rates[host]}},
                                   {},
                                   {},
                                   {}});
  }
  const StageMade made = made_by(run_inventory, fabric);
  EXPECT_EQ(made.error, "");
  return made.rows("port rate");
}

// It was named only by what it carried, minutes later.
TEST(Inventory, APortOfAnotherRateThanThePlansFails) {
  const std::vector<Row> rows = rate_rows({100e6, 100e6, 40e6, 0});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured, "h2: 40.0 Mb/s on nic0");
  EXPECT_EQ(rows[0].expected, "100 Mb/s");
  EXPECT_EQ(rows[0].grade, Grade::kFail);
  EXPECT_EQ(rows[1].where, "2 of 3 ports");
  EXPECT_EQ(rows[1].grade, Grade::kOk);
}

// A switch may limit it to what is planned.
TEST(Inventory, AFasterPortThanThePlansWarns) {
  const std::vector<Row> rows = rate_rows({100e6, 100e6, 100e6, 400e6});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].where, "h3");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
}

TEST(Inventory, APortWithoutAKnownRateOrWithoutAPlanIsNotJudged) {
  EXPECT_TRUE(rate_rows({0, 0, 0, 0}).empty());
  EXPECT_TRUE(rate_rows({100e6, 40e6, 100e6, 100e6}, false).empty());
}

}  // namespace
}  // namespace heddle::acceptance
