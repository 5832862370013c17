// `heddle run`: see run_command.h. Here are the options; what is done with them is in run/.
#include "apps/cli/run_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/quantity.h"
#include "apps/cli/run/plan.h"
#include "apps/cli/run/supervisor.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle run -n 4 -- heddle ranks
  heddle run -n 4 --tag-output -- python3 train.py --epochs 3
  heddle run --lab two_leaf_four_spine --hosts h0,h3 -- heddle ranks
  heddle run -n 4 --protect=headers -- python3 train.py

Each process is told its rank (HEDDLE_RANK, HEDDLE_SIZE, HEDDLE_LOCAL_RANK) and where to find the
others (HEDDLE_STORE, and as proof that it belongs to them HEDDLE_TOKEN), and the same by torchrun's
variables (RANK, MASTER_ADDR and so on). With --protect also where to read a key that is made for
this run, in memory (HEDDLE_KEY_FILE). When one fails, the others are ended: by SIGTERM, and after
the grace time by SIGKILL. Ctrl-C and signals reach all of them. Nothing that they started stays
behind.

Exit status: 0 when all have ended well, else that of the first that failed; 128 and the number of
the signal that ended it, or this command; 2 where a process could not be started.)";

struct RunOptions {
  uint32_t ranks = 0;
  std::vector<std::string> words;
  std::string lab;
  std::string hosts;
  std::string grace = "5";
  std::string protection;
  bool in_lab = false;
  bool tag_output = false;
};

Result<RunPlan> plan_of(const RunOptions& options) {
  RunPlan plan{.words = options.words, .tag_output = options.tag_output};
  const Result<Nanos> grace = parse_span(options.grace);
  if (!grace) return fail(grace.error());
  plan.grace = *grace;
  plan.protection = transport::protection_of(options.protection);
  if (plan.protection && !options.words.empty() && transport::protection_of(options.words[0])) {
    return fail(ErrorCode::kInvalid, "cannot tell a level from a command",
                fmt::format("'{}' would be run as a program", options.words[0]),
                fmt::format("write --protect={} -- COMMAND", options.words[0]));
  }
  if (!options.in_lab) {
    plan.places = place_ranks(options.ranks, {""});
    return plan;
  }
  Result<RunPlan> placed = plan_in_lab(options.lab, options.hosts, options.ranks);
  if (!placed) return placed;
  plan.places = std::move(placed->places);
  plan.lab = std::move(placed->lab);
  return plan;
}

int run(const RunOptions& options) {
  const Result<RunPlan> plan = plan_of(options);
  if (!plan) {
    print_error(plan.error());
    return kCouldNotRun;
  }
  const Result<int> status = run_ranks(*plan);
  if (status) return *status;
  print_error(status.error());
  return kCouldNotRun;
}

}  // namespace

void add_run_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("run", "start the ranks of a run on this machine, or in a lab");
  command->footer(kExample);
  command->positionals_at_end();  // what follows the command's name is the command's
  const auto options = std::make_shared<RunOptions>();
  auto* const count = command->add_option("-n,--ranks", options->ranks, "how many processes");
  count->type_name("N")->check(CLI::Range(1U, kMostLocalRanks));
  command->add_flag("-t,--tag-output", options->tag_output, "begin each line with '[rank] '");
  command->add_option("--grace", options->grace, "from SIGTERM to SIGKILL [5]")
      ->type_name("SECONDS");
  command
      ->add_flag("--protect{full}", options->protection,
                 "protect what ranks send each other with a key of this run: "
                 "--protect=headers|full [full]")
      ->check(CLI::IsMember({"headers", "full"}));
  auto* const hosts =
      command->add_option("--hosts", options->hosts, "start them on hosts of a lab, in turn [all]");
  hosts->type_name("HOST,HOST");
  auto* const lab =
      command->add_option("--lab", options->lab, "which lab [HEDDLE_LAB, or the only one]");
  lab->type_name("NAME");
  command->add_option("command", options->words, "the command and its arguments")
      ->type_name("[--] COMMAND")
      ->required();
  command->callback([=, &invocation] {
    options->in_lab = hosts->count() > 0 || lab->count() > 0;
    if (count->count() == 0 && !options->in_lab) throw CLI::RequiredError("--ranks");
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
