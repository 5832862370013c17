// The chart holds each figure of the table, and asks no network for anything.
#include "apps/cli/bench/bench_chart.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::cli {
namespace {

std::vector<BenchRow> rows() {
  std::vector<BenchRow> all;
  for (const char* test : {"allreduce", "alltoall"}) {
    for (uint64_t bytes = 8; bytes <= 64 << 20; bytes *= 8) {
      BenchRow row = {.test = test, .bytes = bytes, .count = bytes / 4, .type = "float"};
      row.op = "sum";
      row.algorithm = "ring";
      row.out_of_place = BenchTiming{10 + 0.001 * double(bytes), 1, 0.5, 0};
      if (row.test == "allreduce") row.in_place = BenchTiming{5 + 0.001 * double(bytes), 1, 2, 1};
      all.push_back(row);
    }
  }
  return all;
}

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(BenchChart, HasADotForEachTimingInEachChart) {
  const std::string page = bench_chart(rows(), 4);
  size_t timings = 0;
  for (const BenchRow& row : rows()) {
    timings += (row.out_of_place ? 1 : 0) + (row.in_place ? 1 : 0);
  }
  EXPECT_EQ(count_of(page, "<circle"), 2 * timings);
  EXPECT_EQ(count_of(page, "<svg"), 4U);
  EXPECT_EQ(count_of(page, "<table>"), 2U);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
}

TEST(BenchChart, OneSizeAndEmptyCallsAreDrawn) {
  BenchRow row = {.test = "barrier", .bytes = 0, .count = 0, .type = "float"};
  row.op = "none";
  row.out_of_place = BenchTiming{0, 0, 0, 0};
  const std::string page = bench_chart({row}, 1);
  EXPECT_EQ(count_of(page, "<circle"), 2U);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
  EXPECT_NE(bench_chart({}, 1).find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace heddle::cli
