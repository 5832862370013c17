// A job on surplus power: by hand for few hours, and what more distance, more loss and higher
// prices change.
#include "planner/size_sites.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::planner {
namespace {

// A GPU takes exactly 1 kW; a replica is one GPU.
SitesQuestion question_of(std::vector<SiteSurplus> surplus, uint64_t gpus) {
  SitesQuestion question;
  question.cluster.job.gpus = gpus;
  question.cluster.job.zero_stage = 2;
  question.cluster.gpu = *find_gpu("h100");
  question.cluster.fabric = *find_fabric("roce-400g");
  question.cluster.site_link = {.km = 100, .bits_per_s = 800e9};
  question.surplus = std::move(surplus);
  question.host_watts = 300;
  question.pue = 1;
  return question;
}

Answer answer_of(const SitesQuestion& question) {
  const Result<ModelShape> model = find_model("llama-3-8b");
  Result<Answer> answer = size_sites(*model, question);
  EXPECT_TRUE(answer.has_value()) << answer.error().message();
  return answer ? *answer : Answer{};
}

double value_of(const Answer& answer, const char* name) { return answer.figure(name).value; }

// North has 64 GPUs' worth, then 16, then none; south 32, 16, 48.
const std::vector<SiteSurplus> kTwo = {{"north", {64, 16.9, 0}}, {"south", {32, 16, 48}}};

TEST(SizeSites, EachHourHasEqualSharesOrTheSiteThatGivesMore) {
  const Answer answer = answer_of(question_of(kTwo, 128));
  // 32 + 32 joined; 16 + 16 joined; 48 at the south alone.
  EXPECT_DOUBLE_EQ(value_of(answer, "gpu_kw"), 1);
  EXPECT_DOUBLE_EQ(value_of(answer, "surplus_kwh"), 64 + 16.9 + 96);
  const std::vector<double> hours = {64, 32, 48};
  for (size_t hour = 0; hour < hours.size(); ++hour) {
    const std::vector<Cell>& row = answer.tables.front().rows[hour];
    EXPECT_DOUBLE_EQ(std::get<double>(row[5]), hours[hour]) << hour;
  }
  // In the first hour 64 GPUs of the north alone exchange less: then they compute more.
  EXPECT_DOUBLE_EQ(std::get<double>(answer.tables.front().rows[0][6]), 0);
  EXPECT_DOUBLE_EQ(std::get<double>(answer.tables.front().rows[1][6]), 32);
  EXPECT_DOUBLE_EQ(value_of(answer, "powered_gpu_hours"), 144);
  EXPECT_TRUE(answer.sound);
}

TEST(SizeSites, OneSiteIsJudgedWithAllGpusThere) {
  const Answer answer = answer_of(question_of(kTwo, 128));
  // The south powers 32, 16 and 48 GPUs of 128; the north 64 and 16.
  const Figure& one = answer.figure("one_site_useful_gpu_hours");
  EXPECT_NE(one.meaning.find("south"), std::string::npos);
  EXPECT_DOUBLE_EQ(one.terms.front().value, 96);
  EXPECT_GT(value_of(answer, "sites_gain"), 0.3);
}

TEST(SizeSites, ASiteThatJoinsWithoutTheStateWaitsForACopy) {
  SitesQuestion question = question_of({{"north", {64, 0, 64}}, {"south", {0, 64, 64}}}, 128);
  question.cluster.site_link.bits_per_s = 100e9;
  const Answer answer = answer_of(question);
  const double move_s = value_of(answer, "move_s");
  // 8.03e9 parameters of 2 + 12 bytes at 98% of 100 Gb/s.
  EXPECT_NEAR(move_s, 8.03e9 * 14 * 8 / (100e9 * 4096 / 4178), 0.1);
  // South takes over at hour 1, and stays at hour 2: north's state is old, and joining costs more.
  const double lost = answer.figure("useful_gpu_hours").terms[1].value;
  const double computed = std::get<double>(answer.tables.front().rows[1][7]);
  EXPECT_NEAR(lost / (computed + lost), move_s / 3'600, 1e-9);
}

TEST(SizeSites, MoreDistanceAndLossNeverComputeMore) {
  double before = 1e18;
  for (const double km : {0.0, 100.0, 1'000.0, 5'000.0}) {
    SitesQuestion question = question_of({{"a", {512, 512}}, {"b", {512, 512}}}, 1'024);
    question.cluster.site_link = {.km = km, .bits_per_s = 400e9, .loss = 1e-6};
    const double useful = value_of(answer_of(question), "useful_gpu_hours");
    EXPECT_LE(useful, before) << km;
    before = useful;
  }
}

TEST(SizeSites, TheTableOverDistanceHasTheOwnDistanceWithTheSameResult) {
  SitesQuestion question = question_of({{"a", {512, 512}}, {"b", {512, 400}}}, 1'024);
  question.cluster.site_link = {.km = 250, .bits_per_s = 400e9};
  const Answer answer = answer_of(question);
  const double computing = answer.figure("useful_gpu_hours").terms[0].value;
  bool found = false;
  for (const std::vector<Cell>& row : answer.tables[1].rows) {
    if (std::get<double>(row[0]) != 250) continue;
    EXPECT_NEAR(std::get<double>(row[2]), computing, 1e-6 * computing);
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(SizeSites, CostsCountGpusThatAreOffAndLinksByTheirTime) {
  SitesQuestion question = question_of({{"a", {512, 0}}, {"b", {512, 0}}}, 1'024);
  question.prices = {.surplus_kwh = 0.01, .grid_kwh = 0.2, .gpu_hour = 2, .link_month = 73'050};
  const Answer answer = answer_of(question);
  const double useful = value_of(answer, "useful_gpu_hours");
  // 2 hours of 1,024 GPUs, 1,024 kWh, and 2 of 730.5 hours of a month.
  const double cost = 2 * 1'024 * 2 + 1'024 * 0.01 + 73'050 * 2 / 730.5;
  EXPECT_NEAR(value_of(answer, "cost_joined") * useful, cost, 1e-6);
  // On the grid all GPUs run in both hours.
  EXPECT_NEAR(value_of(answer, "cost_grid") * answer.figure("cost_grid").terms.back().value,
              2 * 1'024 * (2 + 0.2), 1e-6);
  // Half of the energy at a's price: cheaper than the grid alone.
  EXPECT_NE(answer.advice.back().find("cheapest: all GPUs at a, surplus and grid"),
            std::string::npos)
      << answer.advice.back();
}

// A cost of 0 was taken as one that is not known: the grid was the cheapest.
TEST(SizeSites, SurplusThatCostsNothingIsTheCheapest) {
  SitesQuestion question = question_of({{"a", {512, 0}}, {"b", {512, 0}}}, 1'024);
  question.prices.grid_kwh = 0.2;
  const Answer answer = answer_of(question);
  EXPECT_EQ(value_of(answer, "cost_joined"), 0);
  EXPECT_NE(answer.advice.back().find("cheapest: all sites joined, surplus, 0 a GPU-hour"),
            std::string::npos)
      << answer.advice.back();
}

TEST(SizeSites, OneSiteHasNoLinksToPay) {
  SitesQuestion question = question_of({{"a", {512, 0}}}, 1'024);
  question.prices = {.grid_kwh = 0.2, .link_month = 1e6};
  const Answer answer = answer_of(question);
  EXPECT_EQ(value_of(answer, "cost_one_site"), 0);
  for (const Figure& each : answer.figures) EXPECT_NE(each.name, "cost_joined");
}

// It ended by a division by zero: a copy to a second site was calculated for half a replica.
TEST(SizeSites, AnHourThatPowersOneReplicaIsAnswered) {
  SitesQuestion question = question_of({{"north", {8, 8, 16}}, {"south", {0, 8, 8}}}, 128);
  question.cluster.job.tensor = 8;
  question.cluster.job.sequence_parallel = true;
  EXPECT_EQ(value_of(answer_of(question), "powered_gpu_hours"), 8 + 16 + 16);
  question.cluster.job.tensor = 1;
  question.cluster.job.gpus_per_node = 1;
  question.cluster.gpu.memory_bytes = 0;  // not known
  question.surplus = {{"north", {1, 7, 3}}, {"south", {0, 1, 3}}};
  EXPECT_EQ(value_of(answer_of(question), "powered_gpu_hours"), 1 + 7 + 6);
}

// It hopped to and fro in every hour.
TEST(SizeSites, ASiteThatAlwaysHasPowerKeepsTheJobAfterOneMove) {
  std::vector<double> in_turns;
  for (int hour = 0; hour < 24; ++hour) in_turns.push_back(hour % 2 == 0 ? 64 : 0);
  SitesQuestion question = question_of({{"a", in_turns}, {"b", std::vector<double>(24, 64)}}, 128);
  question.cluster.site_link.bits_per_s = 1e9;  // a copy takes 15 minutes
  const Answer answer = answer_of(question);
  const double one_move = 64 * value_of(answer, "move_s") / 3'600;
  EXPECT_LE(answer.figure("moving_useful_gpu_hours").terms[1].value, one_move);
  EXPECT_LE(answer.figure("useful_gpu_hours").terms[1].value, one_move);
}

// 8,060 s of copying were counted as an hour: a job that never computes looked as if it did.
TEST(SizeSites, AMoveThatTakesLongerThanAnHourIsNotMade) {
  SitesQuestion question =
      question_of({{"a", {64, 64, 0, 0, 64, 64}}, {"b", {0, 0, 64, 64, 0, 0}}}, 128);
  question.cluster.site_link.bits_per_s = 100e6;
  const Answer answer = answer_of(question);
  EXPECT_EQ(value_of(answer, "powered_gpu_hours"), 4 * 64);
  EXPECT_EQ(answer.figure("useful_gpu_hours").terms[1].value, 0);
}

TEST(SizeSites, AJobThatDoesNotFitInMemoryIsNotSound) {
  SitesQuestion question = question_of({{"a", {512}}, {"b", {512}}}, 1'024);
  question.cluster.job.zero_stage = 0;
  const Answer answer = answer_of(question);
  EXPECT_FALSE(answer.sound);
  EXPECT_NE(answer.advice.front().find("it fits with --zero 2"), std::string::npos);
  // With few replicas ZeRO shares its states among fewer GPUs: those hours run nothing.
  question.cluster.job.zero_stage = 2;
  question.surplus = {{"a", {512, 8}}, {"b", {512, 0}}};
  question.cluster.gpu.memory_bytes = 60.0 * (1 << 30);
  const Answer few = answer_of(question);
  EXPECT_TRUE(few.sound) << few.advice.front();
  EXPECT_EQ(std::get<double>(few.tables.front().rows[1][5]), 0);
}

TEST(SizeSites, SitesPowerWholeNodes) {
  const Answer answer = answer_of(question_of({{"a", {274}}, {"b", {279}}}, 1'024));
  EXPECT_EQ(value_of(answer, "powered_gpu_hours"), 2 * 272);
}

TEST(SizeSites, HoursOfSeveralDaysAreAddedByHourOfTheDay) {
  SiteSurplus north{"north", {}};
  SiteSurplus south{"south", {}};
  for (int hour = 0; hour < 48; ++hour) {
    north.kwh.push_back(hour % 24 == 12 ? 64 : 0);
    south.kwh.push_back(hour % 24 == 12 ? 64 : 0);
  }
  const Answer answer = answer_of(question_of({north, south}, 128));
  ASSERT_EQ(answer.tables.front().rows.size(), 24U);
  EXPECT_DOUBLE_EQ(std::get<double>(answer.tables.front().rows[12][5]), 2 * 128);
  EXPECT_DOUBLE_EQ(std::get<double>(answer.tables.front().rows[11][5]), 0);
}

TEST(SizeSites, SurplusThatPowersNoReplicaIsNotSound) {
  SitesQuestion question = question_of({{"north", {7}}, {"south", {7}}}, 128);
  question.cluster.job.tensor = 8;
  const Answer answer = answer_of(question);
  EXPECT_FALSE(answer.sound);
  EXPECT_NE(answer.advice.front().find("8 GPUs: it needs 8 kWh"), std::string::npos)
      << answer.advice.front();
}

TEST(SizeSites, ImpossibleSitesAreRefused) {
  const Result<ModelShape> model = find_model("llama-3-8b");
  const auto refused = [&model](const SitesQuestion& question) {
    return !size_sites(*model, question).has_value();
  };
  EXPECT_TRUE(refused(question_of({}, 128)));
  EXPECT_TRUE(refused(question_of({{"north", {1, 2}}, {"south", {1}}}, 128)));
  EXPECT_TRUE(refused(question_of({{"north", {-1}}}, 128)));
  EXPECT_TRUE(refused(question_of({{"north", {1}}, {"south", {1}}, {"east", {1}}}, 128)));
  SitesQuestion unknown = question_of(kTwo, 128);
  unknown.cluster.gpu.watts = 0;
  EXPECT_TRUE(refused(unknown));
}

}  // namespace
}  // namespace heddle::planner
