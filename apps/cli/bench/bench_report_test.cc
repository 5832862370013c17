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
  EXPECT_EQ(bench_foot(totals_of(std::vector{row()})),
            "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 2.16995\n");
  BenchRow good = row();
  good.in_place.reset();
  EXPECT_EQ(bench_foot(totals_of(std::vector{good})),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 3.0699\n");
}

TEST(BenchReport, SingleCallsAddFourColumnsASide) {
  BenchRow timed = row();
  timed.out_of_place->iterations = {.of_ranks_us = {{500, 510, 520}, {505, 500, 1200.25}}};
  timed.in_place.reset();
  const std::string line = bench_line(timed, true);
  EXPECT_NE(line.find("       0   505.00   1200.2   1200.2    44.23      N/A"), std::string::npos)
      << line;
  const std::string head = bench_head("allreduce", 2, true);
  const std::string names =
      head.substr(head.find("# "
                            "      size"));
  EXPECT_EQ(names.find('\n') + 1, line.size()) << head << line;
  EXPECT_NE(names.find("#wrong    i_min    i_max    i_p99    i_cv%"), std::string::npos) << head;
  EXPECT_EQ(bench_head("allreduce", 2).find("i_min"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cli
