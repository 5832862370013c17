// Values of the document that nccl-tests' readers take; its keys beside a sample of theirs are
// compared in tests/e2e/bench_json_test.py, on what the program writes.
#include "apps/cli/bench/bench_json.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

BenchRow row() {
  BenchRow row = {.test = "allreduce", .bytes = 1048576, .count = 262144, .type = "float"};
  row.op = "sum";
  row.algorithm = "ring";
  row.out_of_place = BenchTiming{512.345, 2.0467, 3.0699, 0};
  row.in_place = BenchTiming{1234.5, 0.85, 1.27, 3};
  return row;
}

Json document_of(const BenchRow& row, const BenchOptions& options = {}) {
  const BenchRun run = {.ranks = {{10, "a"}, {11, "b"}, {12, "a"}}, .traffic = {500, 20, 3}};
  return bench_document(run, options, {.sizes = {1048576}, .step_bytes = 7}, {row});
}

TEST(BenchJson, ValuesHaveTheTypesOfTheirWriter) {
  const Json result = document_of(row())["results"][0];
  EXPECT_EQ(result["root"], "    -1");
  EXPECT_TRUE(result["out_of_place"]["nwrong"].is_number_float());
  EXPECT_EQ(result["in_place"]["nwrong"], 3.0);
  const Json document = document_of(row());
  EXPECT_EQ(document["out_of_bounds"], Json({{"count", 3}, {"okay", "false"}}));
  EXPECT_EQ(document["config"]["per_iter_timing"], "false");
  EXPECT_EQ(document["heddle"]["results"][0]["algorithm"], "ring");
  EXPECT_EQ(document["heddle"]["traffic"],
            Json({{"segments_sent", 500}, {"segments_retransmitted", 20}, {"segments_marked", 3}}));
}

TEST(BenchJson, WhatWasNotMeasuredKeepsItsKeys) {
  BenchRow only = row();
  only.in_place.reset();
  only.out_of_place->wrong.reset();
  const Json result = document_of(only)["results"][0];
  EXPECT_TRUE(result["out_of_place"]["nwrong"].is_null());
  EXPECT_EQ(result["in_place"]["time"], "nan");
  EXPECT_EQ(result["in_place"].size(), result["out_of_place"].size());
}

TEST(BenchJson, AStepIsAFactorOrBytes) {
  EXPECT_EQ(document_of(row())["config"]["step_bytes"], 7);
  const Json by_factor = document_of(row(), {.factor = 2})["config"];
  EXPECT_EQ(by_factor["step_factor"], 2);
  EXPECT_FALSE(by_factor.contains("step_bytes"));
}

TEST(BenchJson, DevicesAreNumberedByHost) {
  const Json devices = document_of(row())["config"]["devices"];
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[1]["device"], 0);
  EXPECT_EQ(devices[2]["device"], 1);
  EXPECT_EQ(devices[2]["rank"], 2);
  EXPECT_EQ(devices[2]["pid"], 12);
}

TEST(BenchJson, SingleCallsStandBesideTheirMean) {
  BenchRow timed = row();
  timed.out_of_place->iterations = {.of_ranks_us = {{9, 1, 3}, {8, 2, 2}}, .skipped = 1};
  const Json result =
      document_of(timed, {.iterations = 3, .each_call = true, .skip = 1})["results"][0];
  const Json& each = result["out_of_place_per_iter"];
  EXPECT_EQ(each["times_us"], Json({9.0, 2.0, 3.0}));
  EXPECT_EQ(each["per_process_max_times_us"][1], Json({8.0, 2.0, 2.0}));
  EXPECT_EQ(each["max_us"], 3.0);
  EXPECT_EQ(each["skipped_iterations"], 1);
  EXPECT_FALSE(document_of(row())["results"][0].contains("out_of_place_per_iter"));
}

TEST(BenchJson, SecretsOfTheEnvironmentStayAtHome) {
  EXPECT_EQ(without_secret("HEDDLE_RANK=3"), "HEDDLE_RANK=3");
  EXPECT_EQ(without_secret("AWS_SECRET_ACCESS_KEY=abc=d"), "AWS_SECRET_ACCESS_KEY=(hidden)");
  EXPECT_EQ(without_secret("wandb_api_token=x"), "wandb_api_token=(hidden)");
  EXPECT_EQ(without_secret("ODD"), "ODD");
}

TEST(BenchJson, ArgumentsThatAreNotUtf8EndedNoRun) {
  const BenchRun run = {.arguments = {"\xff"}};
  const std::string text = bench_json_text(bench_document(run, {}, {}, {row()}));
  EXPECT_EQ(Json::parse(text)["args"][0], "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace heddle::cli
