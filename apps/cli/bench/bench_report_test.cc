// The table is the one that nccl-tests' readers know.
#include "apps/cli/bench/bench_report.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

BenchRow row() {
  BenchRow row = {.test = "allreduce", .bytes = 1048576, .count = 262144, .type = "float"};
  row.op = "sum";
  row.algorithm = "ring";
  row.out_of_place = BenchTiming{512.345, 2.0467, 3.0699, 0};
  row.in_place = BenchTiming{1234.56, 0.85, 1.27, 3};
  return row;
}

TEST(BenchReport, ARowStandsInItsColumns) {
  EXPECT_EQ(bench_line(row()),
            "     1048576        262144     float     sum      -1   512.35    2.05    3.07       0"
            "   1234.6    0.85    1.27       3\n");
}

TEST(BenchReport, WhatWasNotDoneIsNotAvailable) {
  BenchRow only = row();
  only.in_place.reset();
  only.out_of_place->wrong.reset();
  EXPECT_EQ(bench_line(only),
            "     1048576        262144     float     sum      -1   512.35    2.05    3.07     N/A"
            "      N/A     N/A     N/A     N/A\n");
}

TEST(BenchReport, TheFootAddsUpWhatIsWrong) {
  EXPECT_EQ(bench_foot({row()}),
            "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 2.16995\n");
  BenchRow good = row();
  good.in_place.reset();
  EXPECT_EQ(bench_foot({good}), "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.0699\n");
}

TEST(BenchReport, TheDocumentNamesItsUnits) {
  const auto document = bench_document({row()}, 4);
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_EQ(document["out_of_bounds"], 3);
  const auto& result = document["results"][0];
  EXPECT_EQ(result["size_bytes"], 1048576);
  EXPECT_EQ(result["algorithm"], "ring");
  EXPECT_EQ(result["in_place"]["wrong"], 3);
  EXPECT_DOUBLE_EQ(result["out_of_place"]["busbw_gbytes_per_s"].get<double>(), 3.0699);
}

}  // namespace
}  // namespace heddle::cli
