// Jobs for the page: see page_jobs.h.
#include "apps/cli/sim/page_jobs.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/sim/params.h"
#include "base/quantity.h"
#include "jobs/sums.h"

namespace heddle::cli {
namespace {

using nlohmann::json;

struct Sums {
  Nanos took;
  Nanos computed;  // by a rank, as below
  Nanos exposed;
};

Sums sums_of(const topology::Job& job, const jobs::JobOutcome& outcome) {
  Sums sums;
  const std::vector<Nanos> times = jobs::step_times(job, outcome);
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  for (size_t i = 0; i < times.size(); ++i) {
    sums.took += times[i];
    sums.computed += nanos(outcome.steps[i].computed.count / ranks);
    sums.exposed += nanos(outcome.steps[i].exposed.count / ranks);
  }
  return sums;
}

json steps_of(const topology::Job& job, const jobs::JobOutcome& outcome) {
  json rows = json::array();
  const std::vector<Nanos> times = jobs::step_times(job, outcome);
  const auto ranks = static_cast<int64_t>(job.ranks.size());
  for (size_t i = 0; i < std::min(times.size(), params::sim::kMostSteps); ++i) {
    const jobs::StepOutcome& step = outcome.steps[i];
    rows.push_back({{"end", step.ended.count},
                    {"took", times[i].count},
                    {"computed", step.computed.count / ranks},
                    {"exposed", step.exposed.count / ranks},
                    {"exposedMost", step.exposed_most.count}});
  }
  return rows;
}

json calls_of(const topology::Job& job, const jobs::JobOutcome& outcome) {
  json rows = json::array();
  for (const jobs::CallsAlike& each : jobs::calls_alike(job, outcome)) {
    if (rows.size() == params::sim::kMostCalls) break;
    rows.push_back({{"call", std::string(name_of(each.call))},
                    {"algorithm", each.algorithm ? std::string(name_of(*each.algorithm)) : ""},
                    {"bytes", each.bytes},
                    {"ranks", each.ranks},
                    {"count", each.count},
                    {"least", each.least.count},
                    {"median", each.median.count},
                    {"most", each.most.count},
                    {"bus", each.bus_bytes_per_s}});
  }
  return rows;
}

}  // namespace

json page_jobs(const jobs::SimulatedJobs& run) {
  json rows = json::array();
  for (size_t i = 0; i < run.jobs().size(); ++i) {
    const topology::Job& job = run.jobs()[i];
    const jobs::JobOutcome& outcome = run.outcomes()[i];
    const std::vector<Nanos> times = jobs::step_times(job, outcome);
    const Sums sums = sums_of(job, outcome);
    json row = {{"name", job.name},
                {"kind", job.kind},
                {"ranks", job.ranks.size()},
                {"done", outcome.ranks_done},
                {"error", outcome.error},
                {"stepCount", times.size()},
                {"median", nullptr},
                {"took", sums.took.count},
                {"computed", sums.computed.count},
                {"exposed", sums.exposed.count},
                {"steps", steps_of(job, outcome)},
                {"calls", calls_of(job, outcome)},
                {"messages", outcome.messages},
                {"messageBytes", outcome.message_bytes}};
    if (!times.empty()) row["median"] = jobs::median(times).count;
    rows.push_back(std::move(row));
  }
  return rows;
}

json job_tiles(const jobs::SimulatedJobs& run) {
  json all = json::array();
  if (run.jobs().empty()) return all;
  size_t done = 0;
  Sums sums;
  for (size_t i = 0; i < run.jobs().size(); ++i) {
    const jobs::JobOutcome& outcome = run.outcomes()[i];
    if (outcome.error.empty() && outcome.ranks_done == run.jobs()[i].ranks.size()) ++done;
    const Sums more = sums_of(run.jobs()[i], outcome);
    sums.took += more.took;
    sums.exposed += more.exposed;
  }
  all.push_back(
      {fmt::format("{} of {}", done, run.jobs().size()), "jobs done", done < run.jobs().size()});
  if (sums.took > Nanos{}) {
    const double part = to_seconds(sums.exposed) / to_seconds(sums.took);
    all.push_back({fmt::format("{:.1f}%", part * 100), "of steps exposed communication", false});
  }
  return all;
}

}  // namespace heddle::cli
