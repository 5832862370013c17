// Results of a replay: see replay_report.h.
#include "apps/cli/replay/replay_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/job/flow_report.h"
#include "apps/cli/job/job_report.h"
#include "base/printable.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

std::string where_text(const ReplayOptions& options, const ReplayPlan& plan) {
  if (plan.lab) return "the lab " + plan.lab->state.name;
  return options.topology.empty() ? "this machine" : "the hosts of " + options.topology;
}

// From time 0 to the last that ended, or failed.
Nanos length(const ReplayResults& results) {
  Nanos last;
  for (const JobOutcome& job : results.jobs) {
    for (const StepOutcome& step : job.steps) last = std::max(last, step.ended);
    if (!job.error.empty()) last = std::max(last, job.failed_at);
  }
  for (const simulator::FlowOutcome& flow : results.flows) {
    if (flow.received != Nanos::never()) last = std::max(last, flow.received);
  }
  return last;
}

}  // namespace

std::string replay_text(const ReplayOptions& options, const ReplayPlan& plan, const Config& config,
                        const ReplayResults& results) {
  const Flows flows{plan.workload.flows, results.flows};
  std::string text = fmt::format("{} over {}, {} hosts\ncc {}, {}, seed {}\n\n",
                                 printable(options.workload), printable(where_text(options, plan)),
                                 count_text(plan.topology.hosts.size()), config.text("congestion"),
                                 counted_text(config.integer("paths"), "path"), options.seed);
  text += flows_text(flows, 0, true);
  text += fmt::format("segments    {}, {} sent again\n", count_text(results.counts.segments_sent),
                      count_text(results.counts.segments_repeated));
  text += fmt::format("ran         {}, in {} processes\n", duration_text(length(results)),
                      plan.roles.size());
  return text + flow_times_text(flows) + jobs_text(plan.workload.jobs, results.jobs);
}

nlohmann::json replay_document(const ReplayOptions& options, const ReplayPlan& plan,
                               const Config& config, const ReplayResults& results) {
  nlohmann::json document = flows_json({plan.workload.flows, results.flows}, 0);
  document["flows_changed"] = nullptr;  // received data is not compared here
  document["workload"] = options.workload;
  document["lab"] = plan.lab ? nlohmann::json(plan.lab->state.name) : nlohmann::json(nullptr);
  document["topology"] = nullptr;
  if (!options.topology.empty()) document["topology"] = options.topology;
  if (plan.lab) document["topology"] = plan.lab->state.source;
  document["hosts"] = plan.topology.hosts.size();
  document["processes"] = plan.roles.size();
  document["cc"] = config.text("congestion");
  document["selector"] = config.text("selector");
  document["paths"] = config.integer("paths");
  document["seed"] = options.seed;
  document["counters"] = {{"segments_sent", results.counts.segments_sent},
                          {"segments_repeated", results.counts.segments_repeated}};
  document["ran_us"] = to_micros(length(results));
  document["jobs"] = nlohmann::json::array();
  for (size_t i = 0; i < results.jobs.size(); ++i) {
    document["jobs"].push_back(job_json(plan.workload.jobs[i], results.jobs[i]));
  }
  return document;
}

bool all_done(const ReplayPlan& plan, const ReplayResults& results) {
  for (size_t i = 0; i < results.jobs.size(); ++i) {
    const JobOutcome& job = results.jobs[i];
    if (!job.error.empty() || job.ranks_done < plan.workload.jobs[i].ranks.size()) return false;
  }
  return std::all_of(results.flows.begin(), results.flows.end(),
                     [](const auto& flow) { return flow.received != Nanos::never(); });
}

}  // namespace heddle::cli
