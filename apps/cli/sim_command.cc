// `heddle sim`: see sim_command.h.
#include "apps/cli/sim_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/job/job_report.h"
#include "apps/cli/output.h"
#include "apps/cli/sim/fabric_options.h"
#include "apps/cli/sim/followed_plans.h"
#include "apps/cli/sim/page.h"
#include "apps/cli/sim/params.h"
#include "apps/cli/sim/report.h"
#include "apps/cli/sim/sweep_command.h"
#include "apps/cli/sim/trace.h"
#include "apps/cli/sim/transport_options.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "base/interrupt.h"
#include "base/quantity.h"
#include "jobs/simulated_jobs.h"
#include "simulator/flow_run.h"
#include "simulator/routes.h"
#include "simulator/series.h"
#include "topology/file.h"
#include "topology/htsim_topology.h"
#include "topology/workload_file.h"

namespace heddle::cli {
namespace {

using simulator::FlowRun;

constexpr const char* kExample = R"(Example:
  heddle sim --topology fabric.toml --workload permutation.toml
  heddle sim --topology fat_tree_1024.topo --workload perm.cm --mtu 4154 --paths 128 --json

The simulated hosts run the same transport as real ones. Files whose names end in .topo and .cm
are htsim's. Flows start when all connections are open.)";

struct SimOptions {
  std::string topology;
  std::string workload;
  simulator::FlowRunOptions run;
  TransportOptions transport;
  FabricOptions fabric;
  std::string plan;
  std::vector<std::string> replans;  // TIME:PLAN
  std::string until_text;
  std::string convergence_text;
  Nanos until = Nanos::never();
  std::string series;
  std::string trace;
  std::string html;
  simulator::SeriesOptions bins;
  bool json = false;
  bool matrix = false;  // of jobs
};

bool of_htsim(const SimOptions& options) { return options.topology.ends_with(".topo"); }

Result<topology::Topology> load_topology(const SimOptions& options) {
  if (!of_htsim(options)) return topology::read_topology_file(options.topology);
  Result<std::string> text =
      read_text_file(options.topology, "check the path of the topology file");
  if (!text) return fail(std::move(text).error());
  return topology::parse_htsim_topology(*text, options.topology, options.fabric.use);
}

Result<void> take_bins(SimOptions& options) {
  if (options.series.empty() && options.html.empty()) return {};
  options.bins.bin = Nanos{};
  if (options.series.empty() || options.series == "auto") return {};
  const Result<Nanos> bin = parse_duration(options.series);
  if (!bin) return fail(bin.error());
  options.bins.bin = *bin;
  return {};
}

Result<void> take_quantities(SimOptions& options) {
  if (!options.until_text.empty()) {
    const Result<Nanos> until = parse_duration(options.until_text);
    if (!until) return fail(until.error());
    options.until = *until;
  }
  if (!options.convergence_text.empty()) {
    const Result<Nanos> after = parse_duration(options.convergence_text);
    if (!after) return fail(after.error());
    options.run.routes_converge_after = *after;
  }
  if (Result<void> taken = take_bins(options); !taken) return taken;
  if (Result<void> taken = take_fabric_options(options.fabric, of_htsim(options)); !taken) {
    return taken;
  }
  options.transport.run = &options.run;
  return take_transport_options(options.transport);
}

// Options that would have no effect without another; and with RoCE NICs, those that need events of
// heddle's transport.
Result<void> check_combination(const SimOptions& options) {
  if (options.run.selector == "plan" && options.plan.empty()) {
    return fail(ErrorCode::kInvalid, "cannot follow a plan", "--selector plan needs one",
                "name it with --plan FILE");
  }
  if (!options.replans.empty() && options.plan.empty()) {
    return fail(ErrorCode::kInvalid, "cannot follow another plan", "there is none before it",
                "name the first one with --plan FILE");
  }
  if (options.matrix && !options.json) {
    return fail(ErrorCode::kInvalid, "cannot show what was delivered",
                "--delivered is part of the JSON", "add --json");
  }
  if (!options.run.roce) return {};
  const auto refused = [](const std::string& why, const std::string& todo) {
    return fail(ErrorCode::kInvalid, "cannot simulate RoCE NICs", why, todo);
  };
  if (!options.trace.empty()) {
    return refused("--trace records what heddle's transport observes", "leave it out");
  }
  if (options.matrix) {
    return refused("--delivered counts what heddle's transport delivers", "leave it out");
  }
  return {};
}

std::string progress_text(const FlowRun& run, const jobs::SimulatedJobs& jobs, double wall_s) {
  if (run.opening()) return "opening connections";
  const uint64_t all = run.outcomes().size() + jobs.steps();
  const double part =
      static_cast<double>(run.ended() + jobs.steps_ended()) / static_cast<double>(all);
  std::string text = duration_text(run.now()) + " simulated, ";
  if (!run.outcomes().empty()) {
    text +=
        fmt::format("{} of {} flows, ", count_text(run.ended()), count_text(run.outcomes().size()));
  }
  if (jobs.steps() > 0) {
    text += fmt::format("{} of {} steps of ranks, ", count_text(jobs.steps_ended()),
                        count_text(jobs.steps()));
  }
  text += fmt::format(
      "{:.1f} million events a second",
      static_cast<double>(run.network().events_handled()) * 1e-6 / std::max(wall_s, 1e-3));
  if (part > 0.02) text += fmt::format(", about {:.0f} s left", wall_s * (1 - part) / part);
  return text;
}

// Runs on by some events. False: it has ended.
bool go_on(FlowRun& run, simulator::Series& series, Nanos until) {
  const bool more = run.advance(std::min(until, series.due()), params::sim::kEventsAtOnce);
  if (run.opening()) return more;
  if (run.now() >= series.due()) {
    series.sample(run.now(), run.totals());
    return !run.over() && run.now() < until && run.network().next_event_at() != Nanos::never();
  }
  return more;
}

nlohmann::json jobs_document(const jobs::SimulatedJobs& run) {
  nlohmann::json rows = nlohmann::json::array();
  for (size_t i = 0; i < run.jobs().size(); ++i) {
    rows.push_back(job_json(run.jobs()[i], run.outcomes()[i], run.matrix(i)));
  }
  return rows;
}

std::string json_text(const FlowRun& run, const jobs::SimulatedJobs& jobs,
                      const simulator::Series& series, const SimFacts& facts) {
  nlohmann::json document = sim_document(run, series, facts);
  document["jobs"] = jobs_document(jobs);
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// What a reader of the results should know of them.
void warn_of_results(const SimOptions& options, const jobs::SimulatedJobs& jobs,
                     const SimTrace* trace) {
  if (jobs.misfits() > 0) {
    print_warning(fmt::format(
        "{} of {} of ranks have no path that takes the routes of {}, and choose paths "
        "like reps. Plan with more --paths, and with the links that are down as --failed",
        count_text(jobs.misfits()), counted_text(jobs.planned_pairs(), "pair"), options.plan));
  }
  if (trace != nullptr && trace->dropped_events() > 0) {
    print_warning(fmt::format("{} of {}: the oldest are gone",
                              counted_text(trace->dropped_events(), "event"), options.trace));
  }
}

Result<int> simulate(SimOptions options) {
  if (Result<void> taken = take_quantities(options); !taken) return fail(taken.error());
  const Result<topology::Topology> topology = load_topology(options);
  if (!topology) return fail(topology.error());
  if (Result<void> fits = simulator::Routes::check(*topology, options.topology); !fits) {
    return fail(fits.error());
  }
  const Result<topology::Workload> workload =
      topology::read_workload_file(options.workload, *topology, options.run.seed);
  if (!workload) return fail(workload.error());
  for (const std::string& note : workload->notes) print_warning(note);
  if (Result<void> fits = check_combination(options); !fits) return fail(fits.error());
  if (!options.plan.empty()) {
    const Result<void> taken =
        take_plans({options.plan, options.replans}, *topology, *workload, options.run);
    if (!taken) return fail(taken.error());
  }

  std::unique_ptr<SimTrace> trace;
  if (!options.trace.empty()) {
    Result<std::unique_ptr<SimTrace>> made = SimTrace::create(options.trace, *topology, *workload);
    if (!made) return fail(made.error());
    trace = std::move(*made);
    options.run.sink_of = [&trace](uint32_t host) { return trace->of(host); };
  }
  catch_interrupts();
  const auto began = std::chrono::steady_clock::now();
  const auto wall_s = [began] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  FlowRun run(*topology, *workload, options.run);
  jobs::SimulatedJobsOptions of_jobs{.counts_pairs = options.matrix, .sink_of = {}};
  if (trace != nullptr) {
    of_jobs.sink_of = [&trace](size_t job, uint32_t rank) { return trace->of_rank(job, rank); };
  }
  const Result<std::unique_ptr<jobs::SimulatedJobs>> jobs =
      jobs::SimulatedJobs::create(run, of_jobs);
  if (!jobs) return fail(jobs.error());
  simulator::Series series(run.network(), options.bins);
  {
    ProgressLine progress;
    while (interrupted() == 0 && go_on(run, series, options.until)) {
      if (progress.visible()) progress.show(progress_text(run, **jobs, wall_s()));
    }
  }
  if (!run.opening()) series.sample(run.now(), run.totals());
  SimFacts facts{.topology = options.topology,
                 .workload = options.workload,
                 .options = options.run,
                 .links = {},
                 .until = options.until,
                 .wall_s = wall_s(),
                 .stopped = interrupted() != 0};
  if (of_htsim(options)) facts.links = options.fabric.use;
  warn_of_results(options, **jobs, trace.get());
  print(options.json
            ? json_text(run, **jobs, series, facts)
            : sim_text(run, series, facts) + jobs_text((*jobs)->jobs(), (*jobs)->outcomes()));
  // Behind the results, so that these are not lost with it.
  if (!options.html.empty()) {
    const Result<void> written = write_output(options.html, sim_page(run, **jobs, series, facts));
    if (!written) return fail(written.error());
  }
  if (interrupted() != 0) return interrupted_exit_status();
  for (const simulator::FlowOutcome& outcome : run.outcomes()) {
    if (outcome.received == Nanos::never()) return kFoundWrong;
  }
  return run.wrong() == 0 && (*jobs)->all_done() ? kDone : kFoundWrong;
}

int run_sim(const SimOptions& options) {
  const Result<int> status = simulate(options);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

// Of `heddle sim --cc swift sweep ...` the sweep would not know.
void refuse_options_of(const CLI::App& sim) {
  for (const CLI::Option* option : sim.get_options()) {
    if (option->count() == 0) continue;
    throw CLI::ValidationError(option->get_name(), "write options of a sweep after 'sweep'");
  }
}

}  // namespace

namespace {

void add_result_options(CLI::App& sim, SimOptions& options) {
  sim.add_option("--series", options.series,
                 "record links and queues over time, in bins of this duration, at least 100ns")
      ->type_name("DURATION|auto")
      ->check(duration_value(params::sim::kShortestBin, "auto"))
      ->group("Results");
  sim.add_option("--trace", options.trace,
                 "record what hosts and ranks observe, for heddle matrix, timeline and summary")
      ->type_name("FOLDER")
      ->group("Results");
  sim.add_option("--html", options.html,
                 "also write a page with links over time and the slowest flows")
      ->type_name("FILE")
      ->group("Results");
  add_json_option(sim, options.json)->group("Results");
  sim.add_flag("--delivered", options.matrix,
               "with --json: also the bytes delivered between each two ranks of a job")
      ->group("Results");
}

}  // namespace

void add_sim_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const sim = root.add_subcommand("sim", "run a workload over a simulated fabric");
  sim->footer(kExample + exit_status_help("a flow did not arrive or arrived changed, or a job is "
                                          "not done",
                                          "could not run"));
  const auto options = std::make_shared<SimOptions>();
  add_topology_option(*sim, options->topology,
                      "the fabric: a topology file, or htsim's .topo (required)");
  sim->add_option("--workload", options->workload,
                  "flows and jobs: a workload file, htsim's .cm, a folder of Chakra traces, or "
                  "AICB's .txt (required)")
      ->type_name("FILE");
  add_seed_option(*sim, options->run.seed);
  sim->add_option("--until", options->until_text, "stop at this simulated time, like 5ms")
      ->type_name("DURATION")
      ->check(duration_value())
      ->default_str("the end of all flows and jobs");
  sim->add_option("--convergence", options->convergence_text,
                  "how long after a link's failure or return all switches have routes without or "
                  "with it")
      ->type_name("DURATION")
      ->check(duration_value(Nanos{}))
      ->default_str("never: only the switches at its ends avoid it");
  options->transport.run = &options->run;
  add_transport_options(*sim, options->transport);
  sim->add_option("--plan", options->plan,
                  "follow this plan of 'heddle plan': its number of paths, and its shares of them")
      ->type_name("FILE")
      ->excludes(sim->get_option("--selector"))
      ->excludes(sim->get_option("--paths"));
  sim->add_option("--replan", options->replans,
                  "with --plan: follow this plan from this simulated time on, like "
                  "2ms:plan2.json; may be repeated")
      ->type_name("TIME:PLAN")
      ->allow_extra_args(false);
  add_result_options(*sim, *options);
  add_fabric_options(*sim, options->fabric);
  add_sweep_command(*sim, invocation);
  sim->callback([options, sim, &invocation] {
    if (!sim->get_subcommands().empty()) return refuse_options_of(*sim);
    if (options->topology.empty()) throw CLI::RequiredError("--topology");
    if (options->workload.empty()) throw CLI::RequiredError("--workload");
    invocation.run = [options] { return run_sim(*options); };
  });
}

}  // namespace heddle::cli
