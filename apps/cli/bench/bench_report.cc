// The table of `heddle bench`: see bench_report.h.
#include "apps/cli/bench/bench_report.h"

#include <fmt/core.h>

#include <array>

#include "base/version.h"

namespace heddle::cli {
namespace {

// Seven columns hold it.
std::string time_text(double us) {
  if (us >= 100'000) return fmt::format("{:.0f}", us);
  return us >= 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.2f}", us);
}

std::string timing_text(const std::optional<BenchTiming>& timing) {
  if (!timing) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = timing->wrong ? fmt::format("{}", *timing->wrong) : "N/A";
  return fmt::format("  {:>7}  {:>6.2f}  {:>6.2f}  {:>6}", time_text(timing->time_us),
                     timing->algbw_gbytes_per_s, timing->busbw_gbytes_per_s, wrong);
}

std::string iterations_text(const std::optional<BenchTiming>& timing) {
  if (!timing) return fmt::format("  {0:>7}  {0:>7}  {0:>7}  {0:>7}", "N/A");
  const IterationStatistics each = statistics_of(timing->iterations);
  return fmt::format("  {:>7}  {:>7}  {:>7}  {:>7.2f}", time_text(each.min_us),
                     time_text(each.max_us), time_text(each.p99_us), each.cv_pct);
}

// One side's names or units.
std::string columns(const std::array<const char*, 4>& four, const std::array<const char*, 4>& more,
                    bool each_call) {
  std::string text =
      fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", four[0], four[1], four[2], four[3]);
  if (!each_call) return text;
  return text + fmt::format("  {:>7}  {:>7}  {:>7}  {:>7}", more[0], more[1], more[2], more[3]);
}

}  // namespace

std::string bench_head(const std::string& test, uint32_t ranks, bool each_call) {
  const std::string names = columns({"time", "algbw", "busbw", "#wrong"},
                                    {"i_min", "i_max", "i_p99", "i_cv%"}, each_call);
  const std::string units =
      columns({"(us)", "(GB/s)", "(GB/s)", ""}, {"(us)", "(us)", "(us)", "(%)"}, each_call);
  const auto width = static_cast<int>(names.size()) - 2;
  const char* const more = each_call ? " (+ per-iteration)" : "";
  return fmt::format("# heddle {}: {} on {} rank{}\n#\n", kVersion, test, ranks,
                     ranks == 1 ? "" : "s") +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "", "", "", "", "") +
         fmt::format("  {0:^{2}}  {1:^{2}}\n", fmt::format("out-of-place{}", more),
                     fmt::format("in-place{}", more), width) +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                     "root") +
         names + names + "\n" +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "") +
         units + units + "\n";
}

std::string bench_line(const BenchRow& row, bool each_call) {
  std::string line = fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count,
                                 row.type, row.op, row.root);
  for (const auto* timing : {&row.out_of_place, &row.in_place}) {
    line += timing_text(*timing);
    if (each_call) line += iterations_text(*timing);
  }
  return line + "\n";
}

void BenchTotals::add(const BenchRow& row) {
  for (const auto* timing : {&row.out_of_place, &row.in_place}) {
    if (!*timing) continue;
    wrong_ += (*timing)->wrong.value_or(0);
    bus_gbytes_per_s_ += (*timing)->busbw_gbytes_per_s;
    ++timings_;
  }
}

double BenchTotals::average_bus_bandwidth() const {
  return timings_ == 0 ? 0 : bus_gbytes_per_s_ / static_cast<double>(timings_);
}

BenchTotals totals_of(std::span<const BenchRow> rows) {
  BenchTotals totals;
  for (const BenchRow& row : rows) totals.add(row);
  return totals;
}

std::string bench_foot(const BenchTotals& totals) {
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n",
                     totals.wrong(), totals.wrong() == 0 ? "OK" : "FAILED",
                     totals.average_bus_bandwidth());
}

}  // namespace heddle::cli
