// Data of the page: see page.h.
#include "apps/cli/sim/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/cli/pages/pages.h"
#include "apps/cli/sim/link_names.h"
#include "apps/cli/sim/links.h"
#include "apps/cli/sim/page_jobs.h"
#include "apps/cli/sim/params.h"
#include "apps/cli/sim/slowest.h"
#include "base/error_code.h"
#include "base/quantity.h"

namespace heddle::cli {
namespace {

using nlohmann::json;
using simulator::FlowOutcome;
using simulator::FlowRun;
using simulator::Series;

std::vector<int64_t> completion_times(const FlowRun& run) {
  std::vector<int64_t> times;
  for (const FlowOutcome& outcome : run.outcomes()) {
    if (outcome.received == Nanos::never()) continue;
    times.push_back((outcome.received - outcome.started).count);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// Of more than the page can hold, as many that stand evenly among them, the last with them.
std::vector<int64_t> thinned(const std::vector<int64_t>& sorted) {
  if (sorted.size() <= params::sim::kMostTimes) return sorted;
  std::vector<int64_t> some;
  for (size_t i = 1; i <= params::sim::kMostTimes; ++i)
    some.push_back(sorted[i * sorted.size() / params::sim::kMostTimes - 1]);
  return some;
}

// A value, what it is, and whether it is bad news.
json tiles(const json& document, const jobs::SimulatedJobs& jobs) {
  json all = job_tiles(jobs);
  const auto put = [&all](const std::string& value, const char* name, bool bad) {
    all.push_back({value, name, bad});
  };
  const auto time = [&](const char* key, const char* name) {
    const json& us = document[key];
    put(us.is_null() ? "-"
                     : duration_text(nanos(static_cast<int64_t>(us.get<double>() * 1e3 + 0.5))),
        name, false);
  };
  const uint64_t flows = document["flows"].size();
  const uint64_t arrived = document["flows_arrived"];
  if (flows > 0 || all.empty()) {
    put(fmt::format("{} of {}", count_text(arrived), count_text(flows)), "flows arrived",
        arrived < flows || document["flows_changed"] > 0);
    time("tail_fct_us", "slowest flow");
    time("p99_fct_us", "99 of 100 took no longer");
    time("median_fct_us", "median flow");
    put(rate_text(document["goodput_gbits_per_s"].get<double>() * 1e9), "goodput in all", false);
  }
  const uint64_t again = document["counters"]["segments_retransmitted"];
  put(count_text(again), "segments retransmitted", false);
  const uint64_t full = document["counters"]["packets"]["queue full"];
  put(count_text(full), "packets met a full queue", false);
  const uint64_t marked = document["counters"]["packets"]["marked"];
  put(count_text(marked), "packets marked", false);
  return all;
}

json links_of(const json& series) {
  json links = json::array();
  for (const json& each : series["links"]) {
    std::string name = each["from"].get<std::string>() + " -> " + each["to"].get<std::string>();
    if (each["number"] > 0) name += fmt::format(" #{}", each["number"].get<uint32_t>());
    json link = {{"name", name},
                 {"rate", each["rate_gbits_per_s"].get<double>() * 1e9},
                 {"queue", each["queue_bytes"]},
                 {"used", each["utilization"]},
                 {"peak", each["queue_peak_bytes"]}};
    for (const char* more : {"drops", "marks"}) {
      if (each.contains(more)) link[more] = each[more];
    }
    links.push_back(std::move(link));
  }
  return links;
}

json slow_flows(const FlowRun& run, const Series& series) {
  const LinkNames names(run.network().topology());
  const std::vector<topology::Host>& hosts = run.network().topology().hosts;
  json rows = json::array();
  for (const SlowFlow& slow : slowest_flows(run, series, params::sim::kMostSlow)) {
    const topology::Flow& flow = run.workload().flows[slow.flow];
    const FlowOutcome& outcome = run.outcomes()[slow.flow];
    const bool arrived = outcome.received != Nanos::never();
    json row = {{"id", flow.id},
                {"src", hosts[flow.from].name},
                {"dst", hosts[flow.to].name},
                {"bytes", flow.bytes.count},
                {"start", outcome.started.count},
                {"fct", nullptr},
                {"error", !arrived && outcome.failed ? name_of(outcome.error) : ""},
                {"where", ""},
                {"part", nullptr},
                {"drops", 0}};
    if (arrived) row["fct"] = (outcome.received - outcome.started).count;
    if (slow.worst) {
      row["where"] = names(slow.worst->link);
      row["part"] = static_cast<double>(slow.worst->queue_peak) /
                    static_cast<double>(run.network().room(slow.worst->link));
      row["drops"] = slow.worst->drops;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

json routes_of(const json& routes) {
  json rows = json::array();
  for (const json& each : routes["least_even"]) {
    rows.push_back({{"name", each["switch"]},
                    {"links", each["links"]},
                    {"bytes", each["carried_bytes"]},
                    {"uneven", each["max_over_mean"]}});
  }
  return rows;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

std::string sim_page(const FlowRun& run, const jobs::SimulatedJobs& jobs, const Series& series,
                     const SimFacts& facts) {
  const json document = sim_document(run, series, facts);
  const json bins = series_json(run, series, params::sim::kMostLinks);
  const std::vector<int64_t> times = completion_times(run);
  json about = fmt::format(
      "{} hosts; {}congestion control {}, {}, seed {}; {} simulated{}",
      count_text(run.network().topology().hosts.size()), facts.options.roce ? "RoCE NICs, " : "",
      facts.options.congestion, counted_text(facts.options.paths, "path"), facts.options.seed,
      duration_text(run.now()), facts.stopped ? ", stopped before its end" : "");
  const json data = {{"about", std::move(about)},
                     {"tiles", tiles(document, jobs)},
                     {"jobs", page_jobs(jobs)},
                     {"fct", thinned(times)},
                     {"arrived", times.size()},
                     {"flows", run.outcomes().size()},
                     {"bin", series.bin().count},
                     {"length", series.length().count},
                     {"run",
                      {{"acked", bins["acked_bytes"]},
                       {"sent", bins["segments_sent"]},
                       {"retransmitted", bins["segments_retransmitted"]},
                       {"drops", bins["drops"]},
                       {"marks", bins["marks"]}}},
                     {"links", links_of(bins)},
                     {"slow", slow_flows(run, series)},
                     {"routes", routes_of(document["routes"])}};
  return fill_page(kSimPage, file_name(facts.workload) + " over " + file_name(facts.topology),
                   Json::parse(data.dump(-1, ' ', false, json::error_handler_t::replace)));
}

}  // namespace heddle::cli
