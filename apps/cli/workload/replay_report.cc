// See replay_report.h.
#include "apps/cli/workload/replay_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "apps/cli/job/flow_report.h"
#include "apps/cli/job/job_report.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "jobs/replay.h"

namespace heddle::cli {
namespace {

std::string where_text(const jobs::ReplayOptions& options, const jobs::ReplayPlan& plan) {
  if (plan.lab) return "the lab " + plan.lab->state.name;
  return options.topology.empty() ? "this machine" : "the hosts of " + options.topology;
}

}  // namespace

std::string replay_text(const jobs::ReplayOptions& options, const jobs::ReplayPlan& plan,
                        const Config& config, const jobs::ReplayResults& results) {
  const Flows flows{plan.workload.flows, results.flows};
  std::string text = fmt::format("{} over {}, {} hosts\ncc {}, {}, seed {}\n\n",
                                 printable(options.workload), printable(where_text(options, plan)),
                                 count_text(plan.topology.hosts.size()), config.text("congestion"),
                                 counted_text(config.integer("paths"), "path"), options.seed);
  text += flows_text(flows, 0, true);
  text +=
      fmt::format("segments    {}, {} retransmitted\n", count_text(results.counts.segments_sent),
                  count_text(results.counts.segments_retransmitted));
  text += fmt::format("ran         {}, in {} processes\n",
                      duration_text(jobs::duration_of(results)), plan.roles.size());
  return text + flow_times_text(flows) + jobs_text(plan.workload.jobs, results.jobs);
}

nlohmann::json replay_document(const jobs::ReplayOptions& options, const jobs::ReplayPlan& plan,
                               const Config& config, const jobs::ReplayResults& results) {
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
                          {"segments_retransmitted", results.counts.segments_retransmitted}};
  document["ran_us"] = to_micros(jobs::duration_of(results));
  document["jobs"] = nlohmann::json::array();
  for (size_t i = 0; i < results.jobs.size(); ++i) {
    document["jobs"].push_back(job_json(plan.workload.jobs[i], results.jobs[i]));
  }
  return document;
}

}  // namespace heddle::cli
