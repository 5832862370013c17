// `heddle bench`: see bench_command.h.
#include "apps/cli/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/attachment.h"
#include "apps/cli/bench/bench_call.h"
#include "apps/cli/bench/bench_chart.h"
#include "apps/cli/bench/bench_json.h"
#include "apps/cli/bench/bench_plan.h"
#include "apps/cli/bench/bench_report.h"
#include "apps/cli/bench/bench_traffic.h"
#include "apps/cli/bench/result_file.h"
#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/output.h"
#include "apps/cli/params.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "collectives/bus_bandwidth.h"
#include "collectives/configured.h"
#include "collectives/launch.h"
#include "collectives/rendezvous.h"
#include "engine/process_recording.h"
#include "launch/own_command.h"
#include "launch/plan.h"
#include "launch/supervisor.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle bench allreduce --ranks 4 -b 8 -e 64M -f 2 --plot allreduce.html
  heddle bench alltoall --hosts h0,h1,h2,h3 -b 1K -e 4M -f 4
  heddle bench allreduce --via ssh --hosts node1,node2 -b 8 -e 1G -f 4
  heddle bench allreduce --via 'srun -N1 -n1 --overlap -w {host}' --hosts node1,node2
  heddle run -n 4 -- heddle bench allreduce -b 1M -e 64M -f 4 -I 1 -J allreduce.json
  mpirun -x HEDDLE_STORE=udp://node1:18701 -n 4 heddle bench alltoall -b 1M -e 16M -f 4
  HEDDLE_ALGORITHM=allreduce:tree heddle bench allreduce --ranks 4 -d half -o avg

Without --ranks, --hosts and --lab a launcher starts the ranks: heddle run, srun or mpirun. Letters
are those of nccl-tests, so -n is the number of calls, and --ranks that of ranks. Rank 0 prints, and
writes the files. GB is 1e9 bytes; bus bandwidth can be compared with a link's rate, whatever the
number of ranks.)";

// Each rank's numbers, of which all have as many.
Result<std::vector<std::vector<double>>> gather(collectives::Communicator& communicator,
                                                std::vector<double>& own) {
  std::vector<double> all(own.size() * communicator.size());
  const auto request = communicator.all_gather({.input = own.data(),
                                                .output = all.data(),
                                                .count = own.size(),
                                                .type = collectives::DataType::kFloat64});
  if (!request) return fail(request.error());
  if (Result<void> done = communicator.wait(*request, params::bench::kPatience); !done)
    return fail(done.error());
  std::vector<std::vector<double>> rows;
  for (auto at = all.cbegin(); at != all.cend(); at += static_cast<ptrdiff_t>(own.size())) {
    rows.emplace_back(at, at + static_cast<ptrdiff_t>(own.size()));
  }
  return rows;
}

// Runs the tests of a plan; every rank does the same.
class Bench {
 public:
  // `keeps_rows`: for a file at the end; else memory does not grow with the run.
  Bench(collectives::Communicator& communicator, engine::Endpoint& endpoint,
        const BenchOptions& options, const BenchPlan& plan, bool keeps_rows)
      : communicator_(communicator),
        endpoint_(endpoint),
        options_(options),
        plan_(plan),
        keeps_rows_(keeps_rows) {}

  Result<void> run() {
    for (const BenchTest& test : plan_.tests) {
      show(bench_head(test.name, communicator_.size(), options_.each_call));
      for (const uint64_t bytes : plan_.sizes) {
        Result<BenchRow> row = measure(test, bytes);
        if (!row) return fail(row.error());
        line_.clear();
        show(bench_line(*row, options_.each_call));
        totals_.add(*row);
        if (keeps_rows_) rows_.push_back(std::move(*row));
      }
    }
    show(bench_foot(totals_));
    return {};
  }
  const std::vector<BenchRow>& rows() const { return rows_; }
  const BenchTotals& totals() const { return totals_; }

 private:
  bool first_rank() const { return communicator_.rank() == 0; }

  void show(const std::string& text) const {
    if (first_rank() && !options_.json) print(text);
  }

  Result<BenchRow> measure(const BenchTest& test, uint64_t bytes) {
    const BenchSubject subject = {
        test.collective, plan_.type, plan_.op, options_.root,
        bench_count(test.collective, bytes, plan_.type, communicator_.size())};
    BenchRow row = {.test = test.name, .count = subject.count};
    row.bytes = bench_bytes(test.collective, subject.count, plan_.type, communicator_.size());
    row.type = std::string(collectives::name_of(plan_.type));
    row.op = bench_reduces(test.collective) ? std::string(collectives::name_of(plan_.op)) : "none";
    if (bench_has_root(test.collective)) row.root = options_.root;
    if (first_rank()) line_.show(fmt::format("{} of {} bytes", test.name, row.bytes));
    engine::mark(test.name, row.bytes);
    // What is sent to the next must not change under what comes from the one before.
    const bool may_be_in_place = test.collective != collectives::Collective::kSend;
    for (const bool in_place : {false, true}) {
      if (in_place && !may_be_in_place) continue;
      Result<BenchTiming> timing = time(subject, in_place, row);
      if (!timing) return fail(timing.error());
      (in_place ? row.in_place : row.out_of_place) = *timing;
    }
    row.algorithm = algorithm_of(test.collective, row.bytes);
    return row;
  }

  std::string algorithm_of(collectives::Collective collective, uint64_t bytes) const {
    if (collective == collectives::Collective::kSend) return "none";
    const auto chosen = communicator_.algorithm_for(collective, bytes);
    return chosen ? std::string(collectives::name_of(*chosen)) : "none";
  }

  Result<BenchTiming> time(const BenchSubject& subject, bool in_place, const BenchRow& row) {
    BenchCall call(communicator_, subject, in_place);
    call.fill();
    if (Result<void> ran = repeat(call, options_.warmup); !ran) return fail(ran.error());
    if (Result<void> met = meet(); !met) return fail(met.error());
    std::vector<double> each_us;
    const Nanos began = endpoint_.now();
    if (Result<void> ran =
            repeat(call, options_.iterations, options_.each_call ? &each_us : nullptr);
        !ran) {
      return fail(ran.error());
    }
    const Nanos took = endpoint_.now() - began;
    std::array<double, 2> sums = {0, 0};
    if (options_.check > 0) {
      call.fill();
      if (Result<void> ran = call.run(params::bench::kPatience); !ran) return fail(ran.error());
      sums[0] = static_cast<double>(call.wrong());
    }
    if (Result<void> summed = sum(sums); !summed) return fail(summed.error());
    const Result<double> all = over_ranks(to_micros(took) / options_.iterations);
    if (!all) return fail(all.error());
    BenchTiming timing;
    timing.time_us = *all;
    timing.algbw_gbytes_per_s = static_cast<double>(row.bytes) / timing.time_us / 1e3;
    timing.busbw_gbytes_per_s = timing.algbw_gbytes_per_s *
                                collectives::bus_factor(subject.collective, communicator_.size());
    if (options_.check > 0) timing.wrong = static_cast<uint64_t>(sums[0]);
    if (options_.each_call) {
      auto of_ranks = gather(communicator_, each_us);
      if (!of_ranks) return fail(of_ranks.error());
      timing.iterations = {std::move(*of_ranks), options_.skip};
    }
    return timing;
  }

  // A rank that was stopped ends at once; the others find it gone.
  Result<void> repeat(BenchCall& call, uint32_t times, std::vector<double>* each_us = nullptr) {
    if (each_us != nullptr) each_us->reserve(times);
    for (uint32_t i = 0; i < times; ++i) {
      if (interrupted() != 0) return stopped();
      const Nanos began = each_us != nullptr ? endpoint_.now() : Nanos();
      if (Result<void> ran = call.run(params::bench::kPatience); !ran) return ran;
      if (each_us != nullptr) each_us->push_back(to_micros(endpoint_.now() - began));
    }
    return {};
  }

  static Unexpected stopped() {
    return fail(ErrorCode::kCancelled, "the benchmark was stopped", "by a signal");
  }

  Result<void> meet() {
    std::array<double, 2> stops = {interrupted() != 0 ? 1.0 : 0.0, 0};
    if (Result<void> summed = sum(stops); !summed) return summed;
    // All ranks stop at the same place.
    return stops[0] > 0 ? Result<void>(stopped()) : Result<void>();
  }

  // What -a wishes of the ranks' times.
  Result<double> over_ranks(double own) {
    using collectives::ReduceOp;
    constexpr std::array<ReduceOp, 4> kOps = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin,
                                              ReduceOp::kMax};
    std::array<double, 2> values = {options_.average == 0 && !first_rank() ? 0.0 : own, 0};
    const Result<void> done = combine(values, kOps[options_.average]);
    return done ? Result<double>(values[0]) : fail(done.error());
  }

  Result<void> sum(std::array<double, 2>& values) {
    return combine(values, collectives::ReduceOp::kSum);
  }

  Result<void> combine(std::array<double, 2>& values, collectives::ReduceOp op) {
    const auto request = communicator_.all_reduce({.input = values.data(),
                                                   .output = values.data(),
                                                   .count = values.size(),
                                                   .type = collectives::DataType::kFloat64},
                                                  op);
    return request ? communicator_.wait(*request, params::bench::kPatience) : fail(request.error());
  }

  collectives::Communicator& communicator_;
  engine::Endpoint& endpoint_;
  const BenchOptions& options_;
  const BenchPlan& plan_;
  ProgressLine line_;
  bool keeps_rows_;
  BenchTotals totals_;
  std::vector<BenchRow> rows_;  // empty unless kept
};

// Called before the measurement, which would be lost if its result could not be written. Leaves no
// file.
Result<void> check_writable(const std::string& path, const char* option) {
  if (path.empty()) return {};
  std::error_code unknown;
  const bool there = std::filesystem::exists(path, unknown);
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) {
    return fail(ErrorCode::kSystem, fmt::format("cannot write '{}'", path), std::strerror(errno),
                fmt::format("give another path with {}", option));
  }
  if (!there) std::filesystem::remove(path, unknown);
  return {};
}

// What the document says of all ranks. Every rank calls it.
Result<BenchRun> describe_run(collectives::Communicator& communicator,
                              const collectives::Group& group,
                              std::vector<std::string> environment) {
  BenchRun run;
  run.began = std::time(nullptr);
  run.arguments = launch::command_line();
  run.environment = std::move(environment);
  std::vector<double> pid = {static_cast<double>(getpid())};
  const auto pids = gather(communicator, pid);
  if (!pids) return fail(pids.error());
  for (uint32_t rank = 0; rank < group.size; ++rank) {
    run.ranks.push_back({static_cast<int64_t>((*pids)[rank][0]), group.hosts[rank]});
  }
  return run;
}

// Of all ranks. Every rank calls it.
Result<BenchTraffic> gather_traffic(collectives::Communicator& communicator,
                                    const BenchTraffic& own) {
  std::vector<double> counts = {static_cast<double>(own.segments_sent),
                                static_cast<double>(own.segments_retransmitted),
                                static_cast<double>(own.segments_marked)};
  const auto all = gather(communicator, counts);
  if (!all) return fail(all.error());
  BenchTraffic sum;
  for (const std::vector<double>& rank : *all) {
    sum.segments_sent += static_cast<uint64_t>(rank[0]);
    sum.segments_retransmitted += static_cast<uint64_t>(rank[1]);
    sum.segments_marked += static_cast<uint64_t>(rank[2]);
  }
  return sum;
}

// What rank 0 leaves behind.
struct BenchFiles {
  ResultFile json;
  std::string plot;
};

Result<BenchFiles> take_files(const BenchOptions& options) {
  BenchFiles files;
  files.plot = options.plot_file;
  if (auto good = check_writable(files.plot, "--plot"); !good) return fail(good.error());
  if (options.json_file.empty()) return files;
  Result<ResultFile> json = ResultFile::take(options.json_file, "-J");
  if (!json) return fail(json.error());
  files.json = std::move(*json);
  return files;
}

Result<void> write_files(BenchFiles& files, const std::vector<BenchRow>& rows, uint32_t ranks,
                         const nlohmann::ordered_json& document) {
  if (!files.json.path().empty()) {
    if (auto done = files.json.write(bench_json_text(document)); !done) return done;
  }
  return files.plot.empty() ? Result<void>() : write_output(files.plot, bench_chart(rows, ranks));
}

// -n is nccl-tests' number of calls; users of other launchers mean ranks by it.
Unexpected no_ranks() {
  return fail(ErrorCode::kInvalid, "cannot measure between ranks",
              "no launcher that heddle knows has started this process, and --ranks is not given",
              "add --ranks N to start N ranks here (-n is the number of calls), or start it with "
              "`heddle run -n N -- heddle bench`, torchrun, mpirun or srun");
}

Result<int> run_bench(const Config& config, const BenchOptions& options) {
  catch_interrupts();
  const std::vector<std::string> environment = ConfigSources::of_process().environment;
  if (!collectives::is_launched(environment)) return no_ranks();
  Result<collectives::MeetOptions> meeting = collectives::meet_options(config, environment);
  if (!meeting) return fail(meeting.error());
  meeting->stopped = [] { return interrupted() != 0; };
  const Result<BenchPlan> plan = plan_bench(options, meeting->launch.size);
  if (!plan) return fail(plan.error());
  const auto tuned = collectives::configured_communicator_options(config);
  if (!tuned) return fail(tuned.error());
  Result<BenchFiles> files =
      meeting->launch.rank == 0 ? take_files(options) : Result<BenchFiles>(BenchFiles());
  if (!files) return fail(files.error());
  BenchConnections connections;
  Result<std::unique_ptr<engine::Endpoint>> endpoint = attach_rank(config, &connections);
  if (!endpoint) return fail(endpoint.error());
  const Result<collectives::Group> group = collectives::meet(**endpoint, *meeting);
  if (!group)
    return interrupted() != 0 ? Result<int>(interrupted_exit_status()) : fail(group.error());
  auto world = collectives::Communicator::create(std::make_shared<collectives::Links>(**endpoint),
                                                 collectives::members_of(*group), *tuned);
  if (!world) return fail(world.error());
  // Only if requested: it needs an exchange between the ranks.
  const bool documented = options.json || !options.json_file.empty();
  Result<BenchRun> described =
      !documented ? Result<BenchRun>(BenchRun()) : describe_run(**world, *group, environment);
  if (!described) return fail(described.error());
  if (!files->json.path().empty()) print("# Writing JSON output to " + files->json.path() + "\n");
  Bench bench(**world, **endpoint, options, *plan, documented || !files->plot.empty());
  const Result<void> ran = bench.run();
  if (!ran && interrupted() != 0) return interrupted_exit_status();
  if (!ran) return fail(ran.error());
  described->ended = std::time(nullptr);
  if (documented) {
    const auto traffic = gather_traffic(**world, connections.traffic(**endpoint));
    if (!traffic) return fail(traffic.error());
    described->traffic = *traffic;
  }
  const nlohmann::ordered_json document =
      documented ? bench_document(*described, options, *plan, bench.rows())
                 : nlohmann::ordered_json();
  if (options.json && meeting->launch.rank == 0) print(bench_json_text(document));
  const Result<void> written = write_files(*files, bench.rows(), group->size, document);
  if (!written) return fail(written.error());
  return bench.totals().wrong() == 0 ? kDone : kFoundWrong;
}

Result<int> start_ranks(const BenchOptions& options) {
  Result<launch::RunPlan> plan = launch::plan_places(options.places);
  if (!plan) return fail(plan.error());
  constexpr std::array<std::string_view, 4> kNotForRanks = {"--ranks", "--hosts", "--lab", "--via"};
  plan->words = launch::own_words(kNotForRanks);
  plan->file = launch::own_file();
  plan->own_failure = kCouldNotRun;
  return launch::run_ranks(*plan, {print_error, print_warning});
}

int run_bench_command(const Settings& settings, const BenchOptions& options) {
  const Result<Config> config = settings.load();
  const bool starts = options.places.ranks > 0 || options.places.in_lab;
  const Result<int> status = !config  ? fail(config.error())
                             : starts ? start_ranks(options)
                                      : run_bench(*config, options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

namespace {

// As nccl-tests has them, with its letters and names.
void add_nccl_options(CLI::App& bench, BenchOptions& options) {
  const auto size = [&bench](const char* name, std::string& value, const char* about) {
    bench.add_option(name, value, about)
        ->type_name("SIZE")
        ->check(size_value())
        ->capture_default_str();
  };
  const auto number = [&bench](const char* name, uint32_t& value, const char* about,
                               uint32_t most = UINT32_MAX) {
    bench.add_option(name, value, about)
        ->type_name("N")
        ->check(whole_number(0, most))
        ->capture_default_str();
  };
  const auto text = [&bench](const char* name, std::string& value, const char* about,
                             const char* type) {
    bench.add_option(name, value, about)->type_name(type)->capture_default_str();
  };
  size("-b,--minbytes", options.begin, "first size");
  size("-e,--maxbytes", options.end, "last size");
  size("-i,--stepbytes", options.step, "step from one size to the next");
  number("-f,--stepfactor", options.factor, "factor from one size to the next, in place of -i");
  number("-n,--iters", options.iterations, "calls that are timed");
  number("-w,--warmup_iters", options.warmup, "calls before, which are not timed");
  number("-c,--check", options.check, "1: check results, 0: do not", 1);
  text("-o,--op", options.op, "operation of reductions", "sum|prod|min|max|avg");
  text("-d,--datatype", options.type,
       "type of elements: float, half, bfloat16, double, int8 and so on", "TYPE");
  number("-r,--root", options.root, "root of broadcast, reduce, gather and scatter");
  number("-a,--average", options.average,
         "time that is shown: 0 rank 0's, 1 the mean, 2 the shortest, 3 the longest", 3);
  bench
      .add_option("-z,--blocking", options.blocking,
                  "accepted for nccl-tests' scripts; every call ends before the next")
      ->type_name("0|1")
      ->check(whole_number(0, 1));
  bench
      .add_option("-I,--per_iter_timing", options.each_call,
                  "1: time single calls too, in four more columns a side")
      ->type_name("0|1")
      ->check(whole_number(0, 1))
      ->default_str("0");
  number("-K,--per_iter_skip", options.skip, "first calls that the statistics of -I leave out");
  bench
      .add_option("-J,--output_file", options.json_file,
                  "write results to this file in nccl-tests' JSON (rank 0); where it exists, to "
                  "FILE.0, FILE.1 and so on")
      ->type_name("FILE");
}

}  // namespace

void add_bench_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const bench =
      root.add_subcommand("bench", "measure collectives between ranks, with nccl-tests' options");
  bench->footer(kExample + exit_status_help("results were wrong", "could not run"));
  const auto options = std::make_shared<BenchOptions>();
  const auto settings = std::make_shared<Settings>(*bench);
  bench->add_option("test", options->test, "collective to measure, or all of them")
      ->type_name(choices_text(bench_test_names()))
      ->check(one_of(bench_test_names()))
      ->capture_default_str();
  add_nccl_options(*bench, *options);
  add_json_option(*bench, options->json);
  bench->add_option("--plot", options->plot_file, "write a chart as an HTML page (rank 0)")
      ->type_name("FILE");
  launch::PlacesAsked& places = options->places;
  add_ranks_option(*bench, places.ranks, "start this many ranks", launch::params::kMostLocalRanks,
                   false)
      ->default_str("with --hosts or --lab, one a host");
  auto* const hosts =
      add_hosts_option(*bench, places.hosts,
                       "start the ranks on these hosts of a lab, or machines with --via")
          ->default_str("all of the lab");
  auto* const lab = add_lab_option(*bench, places.lab);
  add_via_option(*bench, places.via)->needs(hosts)->excludes(lab);
  settings->offer("--bind", "bind", kAddressListType);
  settings->offer("--engines", "engines", "N");
  settings->offer("--store", "store", "URL");
  settings->offer("--algorithm", "algorithm", "COLLECTIVE:ALGORITHM[,...]");
  bench->callback([=, &invocation] {
    options->places.in_lab = hosts->count() > 0 || lab->count() > 0;
    if (options->json && !options->json_file.empty()) {
      throw CLI::ValidationError("--json and -J exclude each other");
    }
    invocation.run = [options, settings] { return run_bench_command(*settings, *options); };
  });
}

}  // namespace heddle::cli
