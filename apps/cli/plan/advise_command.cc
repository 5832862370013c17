// `heddle plan advise`: see advise_command.h. Here are the options; what is done with them is in
// advise/.
#include "apps/cli/plan/advise_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/plan/advise/advise_options.h"
#include "apps/cli/plan/advise/advised.h"
#include "apps/cli/plan/advise/recorded.h"
#include "apps/cli/plan/advise/report.h"
#include "apps/cli/plan/advise/trial.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "topology/job.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle plan advise job --topology fabric.toml
  heddle plan advise job --topology fabric.toml --hosts h0,h4,h1,h5 --paths 1
  heddle plan advise node0/job node1/job --topology fabric.toml --try 2
  heddle plan advise job --topology fabric.toml --model llama-3-8b --json

First the job is simulated as it was recorded; where that is off by more than --bound, the gains
count for nothing, and the exit status is 1. Then each change is simulated with the same seeds.)";

struct AdviseOptions {
  AdviseSources sources{.recordings = {}, .topology = "", .rate = "100Gbit/s", .hosts = {}};
  AdviseQuestion question;
  TrialOptions trial;
  uint32_t top = 5;
  uint32_t bound_percent = 15;
  bool json = false;
};

Result<int> advise_on(AdviseOptions options) {
  options.question.bound = options.bound_percent / 100.0;
  options.trial.topology = options.sources.topology;
  if (Result<void> ready = prepare_trial(options.trial); !ready) return fail(ready.error());
  const Result<RecordedSetting> setting = read_setting(options.sources);
  if (!setting) return fail(setting.error());
  catch_interrupts();
  for (const std::string& note : setting->notes) print_warning(note);
  Result<Advised> advised = advise(*setting, options.question);
  if (!advised) return fail(advised.error());
  Result<void> tried;
  if (options.trial.changes > 0) {
    tried = try_changes(*setting, options.question.transport, options.trial, *advised);
  }
  print(options.json ? advised_json(*setting, *advised)
                               .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
                           "\n"
                     : advised_text(*setting, *advised, options.top));
  if (!tried) return fail(tried.error());
  return advised->enough_evidence() && setting->whole ? kDone : kFoundWrong;
}

int run_advise(const AdviseOptions& options) {
  const Result<int> status = advise_on(options);
  if (status) return *status;
  if (interrupted() != 0) return interrupted_exit_status();
  print_error(status.error());
  return kCouldNotRun;
}

void add_model(CLI::App& command, ModelQuestion& model) {
  command.add_option("--model", model.model, "also other splits of the ranks: the job's model")
      ->type_name("NAME|FILE");
  command.add_option("--gpu", model.gpu, "with --model: a preset or a TOML file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command.add_option("--tensor", model.tensor, "with --model: tensor parallel ranks as it is")
      ->type_name("N")
      ->check(whole_number(1, topology::kMaxRanks))
      ->capture_default_str();
  command.add_option("--pipeline", model.pipeline, "with --model: pipeline stages as it is")
      ->type_name("N")
      ->check(whole_number(1, topology::kMaxRanks))
      ->capture_default_str();
}

}  // namespace

void add_advise_command(CLI::App& plan, Invocation& invocation) {
  CLI::App* const advise =
      plan.add_subcommand("advise", "which change of a recorded job gains most, simulated");
  advise->footer(kExample + exit_status_help("the simulation does not reproduce the recording, or "
                                             "some of it could not be read",
                                             "could not run"));
  const auto options = std::make_shared<AdviseOptions>();
  add_advise_sources(*advise, options->sources);
  add_step_transport(*advise, options->question.transport);
  add_model(*advise, options->question.model);
  advise->add_option("--seeds", options->question.seeds, "simulations of each change, 2 to 100")
      ->type_name("N")
      ->check(whole_number(2, 100))
      ->capture_default_str();
  advise
      ->add_option("--bound", options->bound_percent,
                   "most per cent that the simulated step may be off the recorded one")
      ->type_name("N")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  advise->add_option("--top", options->top, "most changes that are shown")
      ->type_name("N")
      ->check(whole_number(1, 1'000))
      ->capture_default_str();
  advise
      ->add_option("--try", options->trial.changes,
                   "run this number of the best changes with real packets in a lab, beside the job "
                   "as it is")
      ->type_name("N")
      ->check(whole_number(1, 100))
      ->default_str("none");
  advise->add_option("--rounds", options->trial.rounds, "with --try: runs of each, 2 to 100")
      ->type_name("N")
      ->check(whole_number(2, 100))
      ->capture_default_str();
  add_json_option(*advise, options->json);
  advise->callback(
      [options, &invocation] { invocation.run = [options] { return run_advise(*options); }; });
}

}  // namespace heddle::cli
