// heddle-bench-steered: what policies do with jobs of the fault library, and with false verdicts
// beside them, and prints a JSON object a job and line. bench/run diagnosis steering makes a table
// of them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/diagnosis/steered_job.h"
#include "bench/diagnosis/stream.h"

namespace heddle::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string ways;
  std::string fault = "none";
  uint64_t first = 1;
  uint64_t count = 10;
  double after_s = 120;
  FalseVerdicts false_verdicts;
};

struct Way {
  std::string name;
  SteeredOptions options;
};

// [{"name", "policy": text of a policy file, "each_verdict", "test": {"wrong", "sees_hangs",
// "host_s"}}, ...]
Result<std::vector<Way>> read_ways(const std::string& path) {
  std::ifstream file(path);
  const Json document = Json::parse(file, nullptr, false);
  if (!document.is_array()) {
    return fail(ErrorCode::kInvalid, "cannot read " + path, "it is no list of ways in JSON",
                "let `bench/run diagnosis steering` write it");
  }
  std::vector<Way> ways;
  for (const Json& each : document) {
    Way way{.name = each.value("name", ""), .options = {}};
    Result<steering::Policy> policy = steering::parse_policy(each.value("policy", ""), way.name);
    if (!policy) return fail(std::move(policy).error());
    way.options.policy = std::move(*policy);
    way.options.each_verdict = each.value("each_verdict", false);
    const Json test = each.value("test", Json::object());
    TestOptions& options = way.options.test;
    options = {.wrong = test.value("wrong", options.wrong),
               .sees_hangs = test.value("sees_hangs", options.sees_hangs),
               .host_s = test.value("host_s", options.host_s)};
    ways.push_back(std::move(way));
  }
  return ways;
}

Json json_of(const SteeredOutcome& outcome) {
  Json actions = Json::array();
  for (const SteeredAction& each : outcome.actions) {
    actions.push_back({{"rule", each.rule},
                       {"target", each.target},
                       {"right", each.right},
                       {"invented", each.invented},
                       {"at_s", each.at_s},
                       {"after_s", each.after_s}});
  }
  return {{"actions", std::move(actions)},    {"tests", outcome.tests},
          {"confirmed", outcome.confirmed},   {"not_confirmed", outcome.not_confirmed},
          {"not_tested", outcome.not_tested}, {"refused", outcome.refused}};
}

Json json_of(const FaultCase& job, const ObservedJob& observed, const WatchedJob& watched,
             const std::vector<Way>& ways) {
  Json by_way = Json::object();
  for (const Way& way : ways) {
    by_way[way.name] = json_of(SteeredJob(job, observed, watched, way.options).run());
  }
  return {{"false_verdicts", watched.false_verdicts}, {"ways", by_way}};
}

// The share of the job's time since its onset that the fault costs; 1 of one that stops it.
double effect_of(const FaultCase& job, const ObservedJob& observed) {
  if (!slows(job.truth.fault)) return job.truth.fault == Fault::kNone ? 0 : 1;
  FaultCase twin = job;
  twin.truth.fault = Fault::kNone;
  const ObservedJob healthy = make_stream(twin);
  return static_cast<double>(observed.ended_ns - healthy.ended_ns) /
         static_cast<double>(observed.ended_ns - observed.onset_ns);
}

// Healthy jobs are as long as those with faults: others may be over before a rule has the time to
// act.
FaultCase drawn(uint64_t seed, Fault fault, double after_s) {
  const bool healthy = fault == Fault::kNone;
  FaultCase job = draw_case(seed, healthy ? Fault::kSlowRank : fault, Source::kStream);
  job.truth.fault = fault;
  return lengthened(job, after_s);
}

int run(const Arguments& arguments) {
  const Result<std::vector<Way>> ways = read_ways(arguments.ways);
  if (!ways) {
    fmt::print(stderr, "heddle-bench-steered: {}\n", ways.error().message());
    return 2;
  }
  const Fault fault = *std::find_if(kFaults.begin(), kFaults.end(),
                                    [&](Fault each) { return arguments.fault == name_of(each); });
  for (uint64_t seed = arguments.first; seed < arguments.first + arguments.count; ++seed) {
    const FaultCase job = drawn(seed, fault, arguments.after_s);
    const ObservedJob observed = make_stream(job);
    WatchedJob watched = watch(observed);
    Json line = {{"seed", seed},
                 {"fault", name_of(fault)},
                 {"shape", name_of(job.shape)},
                 {"ranks", job.ranks},
                 {"severity", job.truth.severity},
                 {"effect", effect_of(job, observed)},
                 {"job_s", 1e-9 * static_cast<double>(observed.until_ns)},
                 {"as_it_is", json_of(job, observed, watched, *ways)}};
    watched = with_false_verdicts(std::move(watched), job, arguments.false_verdicts);
    line["with_false_verdicts"] = json_of(job, observed, watched, *ways);
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }
  return 0;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const Fault each : kFaults) {
    if (!lacks(Source::kStream, each)) names.emplace_back(name_of(each));
  }
  return names;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("What policies do with jobs of the fault library.", "heddle-bench-steered");
  app.add_option("ways", arguments.ways, "JSON file with policies and tests")->required();
  app.add_option("--fault", arguments.fault, "of all jobs; none: they are healthy")
      ->check(CLI::IsMember(heddle::bench::fault_names()))
      ->capture_default_str();
  app.add_option("--first-seed", arguments.first, "of the first job")->capture_default_str();
  app.add_option("--count", arguments.count, "jobs, with consecutive seeds")->capture_default_str();
  app.add_option("--after-s", arguments.after_s,
                 "each job goes on for at least this after its onset")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.add_option("--false-verdicts", arguments.false_verdicts.an_hour,
                 "false ones that are added in an hour of a job")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--false-most-s", arguments.false_verdicts.most_s, "the longest one")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  app.footer("Example:\n  heddle-bench-steered ways.json --fault slow_rank --count 10");
  CLI11_PARSE(app, argc, argv);
  return heddle::bench::run(arguments);
}
