// The table and the document of `heddle bench`: see bench_report.h.
#include "apps/cli/bench/bench_report.h"

#include <fmt/core.h>

#include "base/version.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

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

Json timing_json(const std::optional<BenchTiming>& timing) {
  if (!timing) return nullptr;
  return {{"time_us", timing->time_us},
          {"algbw_gbytes_per_s", timing->algbw_gbytes_per_s},
          {"busbw_gbytes_per_s", timing->busbw_gbytes_per_s},
          {"wrong", timing->wrong ? Json(*timing->wrong) : Json(nullptr)}};
}

}  // namespace

std::string bench_head(const std::string& test, uint32_t ranks) {
  return fmt::format("# heddle {}: {} on {} rank{}\n#\n", kVersion, test, ranks,
                     ranks == 1 ? "" : "s") +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:^31}  {:^31}\n", "", "", "", "", "",
                     "out-of-place", "in-place") +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop",
                     "root") +
         fmt::format("  {0:>7}  {1:>6}  {2:>6}  {3:>6}  {0:>7}  {1:>6}  {2:>6}  {3:>6}\n", "time",
                     "algbw", "busbw", "#wrong") +
         fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", "(B)", "(elements)", "", "", "") +
         fmt::format("  {0:>7}  {1:>6}  {1:>6}  {2:>6}  {0:>7}  {1:>6}  {1:>6}  {2:>6}\n", "(us)",
                     "(GB/s)", "");
}

std::string bench_line(const BenchRow& row) {
  return fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.count, row.type, row.op,
                     row.root) +
         timing_text(row.out_of_place) + timing_text(row.in_place) + "\n";
}

uint64_t bench_wrong(const std::vector<BenchRow>& rows) {
  uint64_t wrong = 0;
  for (const BenchRow& row : rows) {
    for (const auto* timing : {&row.out_of_place, &row.in_place}) {
      if (*timing) wrong += (*timing)->wrong.value_or(0);
    }
  }
  return wrong;
}

double bench_average(const std::vector<BenchRow>& rows) {
  double sum = 0;
  uint64_t timings = 0;
  for (const BenchRow& row : rows) {
    for (const auto* timing : {&row.out_of_place, &row.in_place}) {
      if (!*timing) continue;
      sum += (*timing)->busbw_gbytes_per_s;
      ++timings;
    }
  }
  return timings == 0 ? 0 : sum / static_cast<double>(timings);
}

std::string bench_foot(const std::vector<BenchRow>& rows) {
  const uint64_t wrong = bench_wrong(rows);
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g}\n", wrong,
                     wrong == 0 ? "OK" : "FAILED", bench_average(rows));
}

Json bench_document(const std::vector<BenchRow>& rows, uint32_t ranks) {
  Json results = Json::array();
  for (const BenchRow& row : rows) {
    results.push_back({{"test", row.test},
                       {"size_bytes", row.bytes},
                       {"count", row.count},
                       {"type", row.type},
                       {"redop", row.op},
                       {"root", row.root},
                       {"algorithm", row.algorithm},
                       {"out_of_place", timing_json(row.out_of_place)},
                       {"in_place", timing_json(row.in_place)}});
  }
  return {{"heddle", std::string(kVersion)},
          {"ranks", ranks},
          {"results", std::move(results)},
          {"out_of_bounds", bench_wrong(rows)},
          {"average_busbw_gbytes_per_s", bench_average(rows)}};
}

}  // namespace heddle::cli
