// Stage collectives: all-reduces of several sizes over all hosts.
#include <fmt/format.h>

#include "acceptance/params.h"
#include "acceptance/stages/nccl_tests.h"
#include "acceptance/stages/recorded_all_reduce.h"
#include "acceptance/stages/stages.h"
#include "base/quantity.h"

namespace heddle::acceptance {
namespace {

void add_rows(const Session& session, const BenchResult& result, double bound,
              StageReport& report) {
  const double share = session.expectations().collective_share;
  for (const BenchSize& size : result.sizes) {
    const bool largest = &size == &result.sizes.back();
    Row row{"all-reduce", size_text(size.bytes),
            fmt::format("{} bus bandwidth, {} a call ({})", rate_text(size.bus_bits_per_s),
                        duration_text(nanos(static_cast<int64_t>(size.time_us * 1e3))),
                        size.algorithm)};
    if (bound > 0)
      row.measured += fmt::format(", {:.0f}% of the bound", size.bus_bits_per_s / bound * 100);
    if (largest && bound > 0) {
      row.expected = fmt::format("at least {} of {}", rate_text(bound * share), rate_text(bound));
      row.grade = session.grade_of_speed(size.bus_bits_per_s, bound * share);
      row.todo = row.grade == Grade::kOk
                     ? ""
                     : "pairs and links passed: look at processors and memory of the hosts, then "
                       "run `heddle diagnose` on the recording";
    }
    if (size.wrong > 0) {
      row.grade = Grade::kFail;
      row.expected = "right results";
      row.measured = fmt::format("{} values are wrong", size.wrong);
      row.todo = "data was changed on the way or in memory: test the hosts' memory";
    }
    report.rows.push_back(std::move(row));
  }
}

void add_wire(const Session& session, const HostRates& wire, StageReport& report) {
  if (wire.most_bits_per_s == 0) return;
  std::string measured =
      fmt::format("{} to {} at the hosts' ports", rate_text(wire.least_bits_per_s),
                  rate_text(wire.most_bits_per_s));
  if (wire.share > 0) measured += fmt::format(", up to {:.0f}% of their rate", wire.share * 100);
  report.rows.push_back(
      {"wire rate", fmt::format("{} hosts", session.hosts()), std::move(measured), ""});
  report.data["wire"] = {{"least_bits_per_s", wire.least_bits_per_s},
                         {"most_bits_per_s", wire.most_bits_per_s},
                         {"share", wire.share}};
}

bool is_below(const Session& session, const BenchResult& result, double bound) {
  return result.sizes.empty() ||
         result.sizes.back().bus_bits_per_s < bound * session.expectations().collective_share;
}

}  // namespace

Result<void> run_collectives(Session& session, StageReport& report) {
  const double bound = bus_bound(session, session.all_hosts());
  Result<BenchResult> best = run_recorded_all_reduce(session);
  for (int again = 0; best && is_below(session, *best, bound) && session.may_repeat(again);
       ++again) {
    Result<BenchResult> next = run_recorded_all_reduce(session);
    if (!next) return fail(std::move(next).error());
    if (next->sizes.empty()) continue;
    const bool better = best->sizes.empty() ||
                        next->sizes.back().bus_bits_per_s > best->sizes.back().bus_bits_per_s;
    if (better) best = std::move(next);
  }
  if (!best) return fail(std::move(best).error());
  if (best->sizes.empty()) {
    if (session.interrupted()) return {};
    report.rows.push_back({"all-reduce", fmt::format("{} hosts", session.hosts()), best->complaint,
                           "results", Grade::kFail,
                           "repeat the command of this stage and see what it reports"});
    return {};
  }
  add_rows(session, *best, bound, report);
  session.recordings.push_back({"all-reduces", best->recording, session.disturbed()});
  Json sizes = Json::array();
  for (const BenchSize& size : best->sizes) {
    sizes.push_back({{"bytes", size.bytes},
                     {"count", size.count},
                     {"type", size.type},
                     {"time_us", size.time_us},
                     {"algorithm_bits_per_s", size.algorithm_bits_per_s},
                     {"bus_bits_per_s", size.bus_bits_per_s},
                     {"bound_bits_per_s", bound},
                     {"algorithm", size.algorithm},
                     {"wrong", size.wrong}});
  }
  report.data["sizes"] = std::move(sizes);
  report.data["recording"] = best->recording;
  add_wire(session, best->wire, report);
  return run_nccl_tests(session, best->sizes, report);
}

}  // namespace heddle::acceptance
