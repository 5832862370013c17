// `heddle nccl env`: see env_command.h.
#include "apps/cli/nccl/env_command.h"

#include <memory>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/json.h"
#include "apps/cli/nccl/facts.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/version.h"
#include "engine/cores.h"
#include "nccl/environment.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"--(Example:
  eval "$(heddle nccl env)" && torchrun --nproc-per-node 8 train.py

The lines are for a POSIX shell; where the library or an interface is missing, the last one is
`false`. `heddle nccl doctor` checks what they name.)--";

struct EnvOptions {
  explicit EnvOptions(CLI::App& command) : settings(command) {}
  Settings settings;
  bool json = false;
};

Json document_of(const nccl::EnvironmentFacts& facts) {
  Json variables = Json::array();
  for (const nccl::Variable& each : nccl::nccl_variables(facts)) {
    variables.push_back({{"name", each.name}, {"value", each.value}, {"about", each.about}});
  }
  const Json library = facts.library.empty() ? Json() : Json(facts.library);
  return {{"heddle", kVersion},
          {"library", library},
          {"variables", variables},
          {"notes", nccl::nccl_notes(facts)}};
}

int print_environment(const EnvOptions& options) {
  const auto config = options.settings.load();
  if (!config) {
    print_error(config.error());
    if (!options.json) print(nccl::kShellFailure);
    return kCouldNotRun;
  }
  const nccl::NicSources sources = nic_sources(*config);
  const auto chosen = nccl::find_nics(sources);
  nccl::EnvironmentFacts facts;
  facts.library = plugin_path();
  facts.search_path = environment_value("LD_LIBRARY_PATH");
  facts.chosen = chosen.value_or(std::vector<nccl::Nic>{});
  facts.selection = sources.selection;
  facts.nics_file = sources.file;
  facts.profiler = environment_value("NCCL_PROFILER_PLUGIN");
  facts.tuner = environment_value("NCCL_TUNER_PLUGIN");
  facts.threads = static_cast<int>(config->integer("nccl.threads"));
  facts.usable_cores = engine::usable_cores();
  facts.gpus = gpu_count();
  const bool complete = chosen && !facts.library.empty();
  print(options.json ? document_of(facts).dump(2) + "\n" : nccl::shell_text(facts));
  if (!options.json && !complete) print(nccl::kShellFailure);
  if (!chosen) print_warning(chosen.error().message());
  if (facts.library.empty()) {
    print_warning(
        "libnccl-net-heddle.so is neither beside this program nor where the loader looks");
  }
  return complete ? kDone : kFoundWrong;
}

}  // namespace

void add_nccl_env_command(CLI::App& nccl, Invocation& invocation) {
  CLI::App* const command = nccl.add_subcommand("env", "print the variables for this machine");
  const auto options = std::make_shared<EnvOptions>(*command);
  add_json_option(*command, options->json);
  command->footer(kExample +
                  exit_status_help("no library or no interface was found", "could not run"));
  command->callback([options, &invocation] {
    invocation.run = [options] { return print_environment(*options); };
  });
}

}  // namespace heddle::cli
