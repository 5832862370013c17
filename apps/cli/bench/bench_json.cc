// The document of `heddle bench -J`: see bench_json.h. nccl-tests writes booleans as texts, the
// root in six columns, and a number that it does not have as "nan".
#include "apps/cli/bench/bench_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "base/version.h"

namespace heddle::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormatVersion = 3;
constexpr const char* kNoNumber = "nan";

const char* truth(bool value) { return value ? "true" : "false"; }

std::string time_text(std::time_t time) {
  std::tm parts{};
  localtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

// Ranks compute in host memory: their number on their host stands for a device's.
Json devices_json(const std::vector<BenchRank>& ranks) {
  Json devices = Json::array();
  std::map<std::string, int> of_host;
  for (const BenchRank& rank : ranks) {
    devices.push_back({{"rank", devices.size()},
                       {"group", 0},
                       {"pid", rank.pid},
                       {"hostname", rank.host},
                       {"device", of_host[rank.host]++},
                       {"device_hex", "0000:00:00"},
                       {"device_info", "host memory"}});
  }
  return devices;
}

Json config_json(const BenchRun& run, const BenchOptions& options, const BenchPlan& plan) {
  Json config = {{"nthreads", 1},
                 {"ngpus", 1},
                 {"minimum_bytes", plan.begin_bytes},
                 {"maximum_bytes", plan.end_bytes}};
  if (options.factor > 1) {
    config["step_factor"] = options.factor;
  } else {
    config["step_bytes"] = plan.step_bytes;
  }
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = 1;
  config["validation"] = options.check;
  config["graph"] = 0;
  config["blocking_collectives"] = truth(true);  // each call ends before the next
  config["per_iter_timing"] = truth(options.each_call);
  config["per_iter_skip"] = options.skip;
  config["parallel_init"] = truth(false);
  config["devices"] = devices_json(run.ranks);
  return config;
}

// What was not measured keeps its place, so that readers find the same keys in each result.
Json timing_json(const std::optional<BenchTiming>& timing) {
  if (!timing) {
    return {{"time", kNoNumber}, {"alg_bw", kNoNumber}, {"bus_bw", kNoNumber}, {"nwrong", nullptr}};
  }
  return {{"time", timing->time_us},
          {"alg_bw", timing->algbw_gbytes_per_s},
          {"bus_bw", timing->busbw_gbytes_per_s},
          {"nwrong", timing->wrong ? Json(static_cast<double>(*timing->wrong)) : Json(nullptr)}};
}

Json iterations_json(const IterationTimes& times) {
  const IterationStatistics all = statistics_of(times);
  Json json = {{"skipped_iterations", times.skipped},
               {"min_us", all.min_us},
               {"max_us", all.max_us},
               {"avg_us", all.avg_us},
               {"p50_us", all.p50_us},
               {"p95_us", all.p95_us},
               {"p99_us", all.p99_us},
               {"stdev_us", all.stdev_us},
               {"cv_pct", all.cv_pct},
               {"times_us", times.slowest_us()}};
  if (times.of_ranks_us.size() > 1) json["per_process_max_times_us"] = times.of_ranks_us;
  return json;
}

Json row_json(const BenchRow& row, const BenchOptions& options) {
  Json json = {{"size", row.bytes},
               {"count", row.count},
               {"type", row.type},
               {"redop", row.op},
               {"root", fmt::format("{:>6}", row.root)}};
  for (const auto& [name, timing] :
       {std::pair("out_of_place", &row.out_of_place), std::pair("in_place", &row.in_place)}) {
    json[name] = timing_json(*timing);
    if (options.each_call && *timing) {
      json[std::string(name) + "_per_iter"] = iterations_json((*timing)->iterations);
    }
  }
  json["actual_iterations"] = options.iterations;
  json["experiment_name"] = row.test;
  return json;
}

// By result, in the same order.
Json own_json(const BenchRun& run, const std::vector<BenchRow>& rows) {
  Json results = Json::array();
  for (const BenchRow& row : rows) {
    results.push_back({{"test", row.test}, {"algorithm", row.algorithm}});
  }
  return {{"version", std::string(kVersion)},
          {"ranks", run.ranks.size()},
          {"results", std::move(results)},
          {"traffic",
           {{"segments_sent", run.traffic.segments_sent},
            {"segments_retransmitted", run.traffic.segments_retransmitted},
            {"segments_marked", run.traffic.segments_marked}}}};
}

}  // namespace

Json bench_document(const BenchRun& run, const BenchOptions& options, const BenchPlan& plan,
                    const std::vector<BenchRow>& rows) {
  Json environment = Json::array();
  for (const std::string& variable : run.environment) {
    environment.push_back(without_secret(variable));
  }
  Json results = Json::array();
  for (const BenchRow& row : rows) results.push_back(row_json(row, options));
  const BenchTotals totals = totals_of(rows);
  return {{"version", kFormatVersion},
          {"start_time", time_text(run.began)},
          {"args", run.arguments},
          {"env", std::move(environment)},
          {"nccl_version", 0},  // no NCCL took part
          {"config", config_json(run, options, plan)},
          {"results", std::move(results)},
          {"out_of_bounds", {{"count", totals.wrong()}, {"okay", truth(totals.wrong() == 0)}}},
          {"average_bus_bandwidth",
           {{"bandwidth", totals.average_bus_bandwidth()}, {"okay", "unchecked"}}},
          {"errors", Json::array({""})},  // NCCL's last error: an empty text where there is none
          {"end_time", time_text(run.ended)},
          {"heddle", own_json(run, rows)}};
}

std::string bench_json_text(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string without_secret(const std::string& variable) {
  const size_t end = std::min(variable.find('='), variable.size());
  std::string name = variable.substr(0, end);
  for (char& each : name) each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  constexpr std::array<std::string_view, 6> kSecret = {"KEY",   "TOKEN",      "SECRET",
                                                       "PASSW", "CREDENTIAL", "AUTH"};
  const bool secret = std::any_of(kSecret.begin(), kSecret.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
  return secret ? variable.substr(0, end) + "=(hidden)" : variable;
}

}  // namespace heddle::cli
