// heddle-bench-diagnosis: judges the diagnosis on jobs of the fault library, and prints a JSON
// object a job and line. bench/run diagnosis makes tables of them.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/diagnosis/judge.h"

namespace heddle::bench {
namespace {

struct Arguments {
  std::string source = "stream";
  std::string fault = "none";
  uint64_t first = 1;
  uint64_t count = 100;
  bool live = false;
  double least_errors = 0;
  std::string algorithm;
};

Fault fault_named(const std::string& name) {
  return *std::find_if(kFaults.begin(), kFaults.end(),
                       [&name](Fault each) { return name == name_of(each); });
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const Fault each : kFaults) names.emplace_back(name_of(each));
  return names;
}

// By which a miss may be explained.
nlohmann::ordered_json noise_of(const Noise& noise) {
  return {{"jitter", noise.jitter},
          {"lengths", noise.lengths},
          {"crowding", noise.crowding},
          {"imbalance", noise.imbalance},
          {"congestion_chance", noise.congestion_chance},
          {"clock_error_ns", noise.clock_error_ns}};
}

nlohmann::ordered_json json_of(uint64_t seed, const Judgement& judgement) {
  const FaultCase& job = judgement.job;
  nlohmann::ordered_json line = {{"seed", seed},
                                 {"fault", name_of(job.truth.fault)},
                                 {"shape", name_of(job.shape)},
                                 {"algorithm", topology::text_of(job.algorithm)},
                                 {"ranks", job.ranks},
                                 {"ranks_per_host", job.ranks_per_host},
                                 {"noise", noise_of(job.noise)},
                                 {"judged", judgement.judged},
                                 {"events", judgement.events},
                                 {"first_class", judgement.first_class},
                                 {"verdicts", judgement.verdicts},
                                 {"evidence", judgement.evidence}};
  if (job.truth.fault == Fault::kNone) {
    line["most_confidence"] = judgement.most_confidence;
    return line;
  }
  line["rank"] = job.truth.rank;
  line["severity"] = job.truth.severity;
  line["effect"] = judgement.effect;
  line["found"] = judgement.found;
  line["confidence"] = judgement.confidence;
  line["class_right"] = judgement.class_right;
  line["place_right"] = judgement.place_right;
  line["others"] = judgement.others;
  line["delay_s"] = nullptr;
  if (judgement.delay_s >= 0) line["delay_s"] = judgement.delay_s;
  return line;
}

// The job becomes one of all-reduces by this algorithm; two_level alone has a group a leaf.
void reduce_by(const std::string& name, FaultCase& job) {
  job.shape = Shape::kBuckets;
  job.waits = true;
  job.ranks_per_host = 1;
  if (name == "two_level") {
    job.ranks = std::max(4u, job.ranks + job.ranks % 2);
    job.algorithm = {topology::CallAlgorithm::kTwoLevel, job.ranks / 2};
  } else {
    job.algorithm = topology::algorithm_named(name).value();
  }
}

int run(const Arguments& arguments) {
  const Source source = arguments.source == "stream" ? Source::kStream : Source::kSimulation;
  if (lacks(source, fault_named(arguments.fault))) {
    fmt::print(stderr, "heddle-bench-diagnosis: streams have no paths: add --source simulation\n");
    return 2;
  }
  for (uint64_t seed = arguments.first; seed < arguments.first + arguments.count; ++seed) {
    FaultCase job = draw_case(seed, fault_named(arguments.fault), source);
    if (!arguments.algorithm.empty()) reduce_by(arguments.algorithm, job);
    const Result<Judgement> judgement =
        judge(job, source,
              {.looks = arguments.live ? Looks::kEachSecond : Looks::kSome,
               .least_errors = arguments.least_errors});
    if (!judgement) {
      fmt::print(stderr, "heddle-bench-diagnosis: {}\n", judgement.error().message());
      return 2;
    }
    fmt::print("{}\n", json_of(seed, *judgement).dump());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int argc, char** argv) {
  heddle::bench::Arguments arguments;
  CLI::App app("Judges the diagnosis on jobs of the fault library.", "heddle-bench-diagnosis");
  app.add_option("--source", arguments.source, "of events: simulated packets, or streams")
      ->check(CLI::IsMember({"stream", "simulation"}))
      ->capture_default_str();
  app.add_option("--fault", arguments.fault, "of all jobs; none: they are healthy")
      ->check(CLI::IsMember(heddle::bench::fault_names()))
      ->capture_default_str();
  app.add_option("--first-seed", arguments.first, "of the first job")->capture_default_str();
  app.add_option("--count", arguments.count, "jobs, with consecutive seeds")->capture_default_str();
  app.add_flag("--live", arguments.live,
               "looks each second, as heddle monitor does; every alarm counts");
  app.add_option("--least-errors", arguments.least_errors,
                 "standard errors from which slowness is a verdict; 0: those of the rules")
      ->check(CLI::Range(0.0, 20.0))
      ->capture_default_str();
  app.add_option("--algorithm", arguments.algorithm,
                 "of all-reduces: all simulated jobs are of this shape")
      ->check(
          CLI::IsMember({"ring", "tree", "recursive_doubling", "halving_doubling", "two_level"}));
  app.footer("Example:\n  heddle-bench-diagnosis --fault slow_rank --count 10");
  CLI11_PARSE(app, argc, argv);
  return heddle::bench::run(arguments);
}
