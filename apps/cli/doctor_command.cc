// `heddle doctor`: see doctor_command.h.
#include "apps/cli/doctor_command.h"

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/findings.h"
#include "apps/cli/terminal.h"
#include "datapath/rdma_doctor.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle doctor rdma
  heddle doctor rdma --local 10.0.0.1
  heddle doctor rdma --local eth0 --json

A line for each port of each RDMA device: whether heddle uses it, with which GID, and why. Run it
where the job runs: in its container, with its limits.)";

struct RdmaOptions {
  std::string bind;
  bool json = false;
};

int run_doctor_rdma(const RdmaOptions& options) {
  datapath::RdmaBinding binding;
  if (const auto address = datapath::parse_rdma_address(options.bind)) {
    binding.address = *address;
  } else {
    binding.interface = options.bind;
  }
  const std::vector<Finding> findings = datapath::examine_rdma(datapath::read_rdma_host(binding));
  print(options.json ? findings_document(findings).dump(2) + "\n" : findings_text(findings));
  return any_failed(findings) ? kFoundWrong : kDone;
}

}  // namespace

void add_doctor_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const group = root.add_subcommand("doctor", "check this machine for RDMA");
  group->require_subcommand(1);
  group->footer("Example:\n  heddle doctor rdma");
  CLI::App* const command =
      group->add_subcommand("rdma", "which RDMA devices, ports and GIDs heddle takes, and why");
  const auto options = std::make_shared<RdmaOptions>();
  command->add_option("--local", options->bind, "the local address or interface to use")
      ->type_name("ADDRESS|INTERFACE")
      ->default_str("any");
  add_json_option(*command, options->json);
  command->footer(kExample +
                  exit_status_help("no port can be used, or a check failed", "could not run"));
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run_doctor_rdma(*options); }; });
}

}  // namespace heddle::cli
