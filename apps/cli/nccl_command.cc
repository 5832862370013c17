// `heddle nccl`: see nccl_command.h.
#include "apps/cli/nccl_command.h"

#include "apps/cli/nccl/doctor.h"
#include "apps/cli/nccl/env.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"--(Example:
  eval "$(heddle nccl env)"
  heddle nccl doctor)--";

}  // namespace

void add_nccl_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const nccl = root.add_subcommand("nccl", "set up and check NCCL over heddle");
  nccl->require_subcommand(1);
  nccl->footer(kExample);
  add_nccl_env(*nccl, invocation);
  add_nccl_doctor(*nccl, invocation);
}

}  // namespace heddle::cli
