// `heddle nccl doctor`: see doctor_command.h.
#include "apps/cli/nccl/doctor_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/nccl/facts.h"
#include "apps/cli/output.h"
#include "apps/cli/service/control.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "base/version.h"
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

int count_of(const std::vector<nccl::Finding>& findings, nccl::Grade grade) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [grade](const nccl::Finding& each) { return each.grade == grade; }));
}

std::string text_of(const std::vector<nccl::Finding>& findings) {
  std::string text;
  for (const nccl::Finding& each : findings) {
    text += fmt::format("{:<4}  {:<9}  {}\n", nccl::grade_name(each.grade), each.topic,
                        printable(each.what));
    if (each.grade == nccl::Grade::kOk) continue;
    text += fmt::format("{:17}why: {}\n{:17}do:  {}\n", "", printable(each.why), "",
                        printable(each.todo));
  }
  return text +
         fmt::format("{} failed, {} warnings, {} ok\n", count_of(findings, nccl::Grade::kFail),
                     count_of(findings, nccl::Grade::kWarn), count_of(findings, nccl::Grade::kOk));
}

Json document_of(const std::vector<nccl::Finding>& findings) {
  Json rows = Json::array();
  for (const nccl::Finding& each : findings) {
    const bool fine = each.grade == nccl::Grade::kOk;
    rows.push_back({{"grade", nccl::grade_name(each.grade)},
                    {"topic", each.topic},
                    {"what", each.what},
                    {"why", fine ? Json() : Json(each.why)},
                    {"todo", fine ? Json() : Json(each.todo)}});
  }
  return {{"heddle", kVersion},
          {"failed", count_of(findings, nccl::Grade::kFail)},
          {"warnings", count_of(findings, nccl::Grade::kWarn)},
          {"findings", rows}};
}

int run_doctor(const DoctorOptions& options) {
  std::vector<Error> wrong = drop_wrong_variables();
  const auto config = options.settings.load();
  if (!config) {
    print_error(config.error());
    return kCouldNotRun;
  }
  nccl::HostFacts facts = gather_facts(*config);
  facts.wrong_settings = std::move(wrong);
  const std::vector<nccl::Finding> findings = nccl::examine(facts);
  print(options.json ? document_of(findings).dump(2) + "\n" : text_of(findings));
  return nccl::any_failed(findings) ? kFoundWrong : kDone;
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
