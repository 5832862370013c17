// `heddle run`: see run_command.h. Here are the options; what is done with them is in run/.
#include "apps/cli/run_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"
#include "base/quantity.h"
#include "launch/own_command.h"
#include "launch/plan.h"
#include "launch/supervisor.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle run -n 4 -- heddle ranks
  heddle run -n 4 --tag-output -- python3 train.py --epochs 3
  heddle run --lab two_leaf_four_spine --hosts h0,h3 -- heddle ranks
  heddle run --via ssh --hosts node1,node2 -- heddle ranks
  heddle run --via ssh --hosts node1=10.1.0.1,node2=10.1.0.2 -n 16 -- python3 train.py
  heddle run --via 'ssh -p 2222 {host} {command}' --hosts node1,node2 -- heddle ranks
  heddle run --via 'srun -N1 -n1 --overlap -w {host}' --hosts node1,node2 -- heddle ranks
  heddle run -n 4 --protect=headers -- python3 train.py
  heddle run -n 4 --elastic 2:6 -- python3 examples/elastic.py

Each rank finds its number and the others in its environment: HEDDLE_RANK, HEDDLE_SIZE,
HEDDLE_LOCAL_RANK, HEDDLE_STORE (where ranks meet), HEDDLE_TOKEN (the run's secret), and
torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR and so on). With --protect, HEDDLE_KEY_FILE
names a key that is made for this run and kept in memory.

In the words of --via {host} stands for the host, and {command} for the command as one word for a
shell there; without it the command's words are added. With --via the ranks meet at the first host's
name, or at its address where `=` gives one, so that has to be on the network for training. heddle
has to be installed on all hosts; HEDDLE_* variables are passed on.

When a rank fails, the others get SIGTERM, and after the grace period SIGKILL. With --elastic the
others go on while at least MIN ranks are left: the program must make a communicator of them, as
heddle_torch.reconfigure() does. With --elastic MIN:MAX a newcomer is started for each rank that is
lost: the program must take it in, as heddle_torch.init() and grow() do. `heddle resize` changes the
number of ranks. What a lost rank started is killed. Ctrl-C and signals are passed on to all ranks.
No process that they started is left behind.)";

struct RunOptions {
  launch::PlacesAsked places;
  std::vector<std::string> words;
  std::string grace = "5s";
  std::string protection;
  std::string elastic;
  bool tag_output = false;
};

CLI::Validator elastic_value() {
  const auto check = [](const std::string& text) -> std::string {
    const Result<launch::Elastic> range = launch::parse_elastic(text);
    return range ? "" : fmt::format("{}; {}", range.error().what, range.error().todo);
  };
  return {check, ""};
}

Result<launch::RunPlan> plan_of(const RunOptions& options) {
  Result<launch::RunPlan> placed = launch::plan_places(options.places);
  if (!placed) return placed;
  launch::RunPlan plan = std::move(*placed);
  plan.words = options.words;
  if (!plan.words.empty() && plan.words.front() == "heddle") plan.file = launch::own_file();
  plan.tag_output = options.tag_output;
  const Result<Nanos> grace = parse_duration(options.grace);
  if (!grace) return fail(grace.error());
  plan.grace = *grace;
  plan.protection = transport::protection_of(options.protection);
  if (plan.protection && !options.words.empty() && transport::protection_of(options.words[0])) {
    return fail(ErrorCode::kInvalid, "cannot run this command",
                fmt::format("'{}' would be run as a program", options.words[0]),
                fmt::format("write --protect={} -- COMMAND", options.words[0]));
  }
  if (options.elastic.empty()) return plan;
  const Result<launch::Elastic> range = launch::parse_elastic(options.elastic);
  if (!range) return fail(range.error());
  const Result<void> elastic = launch::make_elastic(plan, *range);
  if (!elastic) return fail(elastic.error());
  return plan;
}

int run(const RunOptions& options) {
  const Result<launch::RunPlan> plan = plan_of(options);
  if (!plan) {
    print_error(plan.error());
    return kProgramFailed;
  }
  const Result<int> status = launch::run_ranks(*plan, {print_error, print_warning, print_progress});
  if (status) return *status;
  print_error(status.error());
  return kProgramFailed;
}

}  // namespace

void add_run_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("run", "start the ranks of a job here, on other machines or in a lab");
  command->footer(kExample +
                  program_status_help("0 all ranks ended with 0, or all that were left of an "
                                      "elastic job; N the exit status of the first rank that "
                                      "failed, or whose loss left fewer than MIN"));
  command->positionals_at_end();  // what follows the command's name is the command's
  const auto options = std::make_shared<RunOptions>();
  auto* const count = add_ranks_option(*command, options->places.ranks, "number of ranks",
                                       launch::params::kMostLocalRanks);
  count->default_str("with --lab or --hosts, one a host");
  auto* const hosts = add_hosts_option(*command, options->places.hosts,
                                       "start them on these hosts of a lab, or machines with --via")
                          ->default_str("all of the lab");
  auto* const lab = add_lab_option(*command, options->places.lab);
  add_via_option(*command, options->places.via)->needs(hosts)->excludes(lab);
  command->add_flag("--tag-output", options->tag_output, "begin each line with '[rank] '");
  command
      ->add_option("--elastic", options->elastic,
                   "go on without ranks that are lost, while at least MIN are left; with MAX, "
                   "replace them, and let `heddle resize` ask for up to MAX")
      ->type_name("MIN[:MAX]")
      ->check(elastic_value());
  command->add_option("--grace", options->grace, "time from SIGTERM to SIGKILL")
      ->type_name("DURATION")
      ->check(duration_value())
      ->capture_default_str();
  command
      ->add_flag("--protect{full}", options->protection,
                 "encrypt and authenticate what ranks send each other, with a key of this run; "
                 "headers: all but the payload of long messages (without a level: full)")
      ->type_name("headers|full")
      ->check(one_of({"headers", "full"}));
  add_program(*command, options->words)->required();
  command->callback([=, &invocation] {
    options->places.in_lab = hosts->count() > 0 || lab->count() > 0;
    if (count->count() == 0 && !options->places.in_lab) throw CLI::RequiredError("--ranks");
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
