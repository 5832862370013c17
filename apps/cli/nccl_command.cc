// `heddle nccl`: see nccl_command.h.
#include "apps/cli/nccl_command.h"

#include <array>

#include "apps/cli/nccl/doctor_command.h"
#include "apps/cli/nccl/drive_command.h"
#include "apps/cli/nccl/env_command.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"--(Example:
  eval "$(heddle nccl env)"
  heddle nccl doctor
  heddle nccl drive heddle --pattern p2p --check)--";

using AddSubcommand = void (*)(CLI::App& group, Invocation& invocation);
constexpr std::array<AddSubcommand, 3> kSubcommands = {
    add_nccl_env_command,
    add_nccl_doctor_command,
    add_nccl_drive_command,
};

}  // namespace

void add_nccl_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const group = root.add_subcommand("nccl", "set up, check and try NCCL over heddle");
  group->require_subcommand(1);
  group->footer(kExample);
  for (const AddSubcommand add : kSubcommands) add(*group, invocation);
}

}  // namespace heddle::cli
