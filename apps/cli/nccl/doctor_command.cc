// `heddle nccl doctor`: see doctor_command.h.
#include "apps/cli/nccl/doctor_command.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/findings.h"
#include "apps/cli/nccl/facts.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "nccl/doctor.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle nccl doctor
  srun --ntasks-per-node 1 heddle nccl doctor --json

Run it where the job runs: in its container, with its environment.)";

struct DoctorOptions {
  explicit DoctorOptions(CLI::App& command) : settings(command) {}
  Settings settings;
  bool json = false;
};

int run_doctor(const DoctorOptions& options) {
  std::vector<Error> wrong = drop_wrong_variables();
  const auto config = options.settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  nccl::HostFacts facts = gather_facts(*config);
  facts.wrong_settings = std::move(wrong);
  const std::vector<Finding> findings = nccl::examine(facts);
  print(options.json ? findings_document(findings).dump(2) + "\n" : findings_text(findings));
  return any_failed(findings) ? kFoundWrong : kDone;
}

}  // namespace

void add_nccl_doctor_command(CLI::App& nccl, Invocation& invocation) {
  CLI::App* const command =
      nccl.add_subcommand("doctor", "check this machine for NCCL over heddle");
  const auto options = std::make_shared<DoctorOptions>(*command);
  add_json_option(*command, options->json);
  command->footer(kExample + exit_status_help("a check failed", "could not run"));
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_doctor(*options); }; });
}

}  // namespace heddle::cli
