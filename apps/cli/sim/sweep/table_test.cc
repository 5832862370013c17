// Tables of sweeps: flows and jobs each have their own, and what files hold by mistake breaks none.
#include "apps/cli/sim/sweep/table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace heddle::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

json job(const char* name, std::vector<double> took_us, int done = 4) {
  json steps = json::array();
  for (const double each : took_us) {
    steps.push_back({{"took_us", each}, {"exposed_us", each / 4}});
  }
  return {{"name", name}, {"ranks", 4}, {"ranks_done", done}, {"steps", steps}};
}

json run(const char* paths, const char* seed, std::vector<json> jobs) {
  return {{"vary", {{"paths", paths}, {"seed", seed}}},
          {"counters", {{"segments_retransmitted", 7}}},
          {"jobs", jobs}};
}

std::string line_with(const std::string& table, const std::string& words) {
  const size_t at = table.find(words);
  if (at == std::string::npos) return "";
  const size_t begin = table.rfind('\n', at) + 1;
  return table.substr(begin, table.find('\n', at) - begin);
}

TEST(SweepTableTest, StepsOfAJobAreOfAllRunsThatDifferInTheirSeed) {
  const std::string table =
      sweep_table({run("8", "1", {job("llm", {100, 300})}), run("8", "2", {job("llm", {200})}),
                   run("16", "1", {job("llm", {50}, 3)})});
  EXPECT_THAT(table, Not(HasSubstr("tail"))) << "there were no flows";
  EXPECT_THAT(line_with(table, "8  "),
              MatchesRegex("8 +llm +2 +100 us +200 us +300 us +25.0% +7 +0"));
  EXPECT_THAT(line_with(table, "16 "),
              MatchesRegex("16 +llm +1 +50.0 us +50.0 us +50.0 us +25.0% +7 +1"));
}

TEST(SweepTableTest, JobsOfOneNameStandApartAndFlowsBeforeThem) {
  json both = run("8", "1", {job("a", {100}), job("a", {})});
  both["flows_arrived"] = 3;
  both["tail_fct_us"] = 12.0;
  const std::string table = sweep_table({both});
  EXPECT_LT(table.find("median tail"), table.find("median step"));
  EXPECT_THAT(line_with(table, "12.0 us"), HasSubstr("12.0 us"));
  EXPECT_THAT(line_with(table, "a #2"), MatchesRegex("8 +a #2 +1 +- +- +- +- +7 +0"));
}

TEST(SweepTableTest, RowsThatAreNoneAreLeftAlone) {
  json odd = run("8", "1", {json(1), json::object(), {{"name", 3}, {"steps", {1, "x", {{}}}}}});
  odd["flows_arrived"] = "many";
  EXPECT_THAT(sweep_table({odd}), HasSubstr("median step"));
  EXPECT_EQ(sweep_table({}), "");
}

}  // namespace
}  // namespace heddle::cli
