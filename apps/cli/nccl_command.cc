// `heddle nccl`: see nccl_command.h.
#include "apps/cli/nccl_command.h"

#include <array>

#include "apps/cli/nccl/drive_command.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle nccl drive build/release/lib/libnccl-net-heddle.so
  heddle nccl drive heddle --pattern p2p --check)";

using AddSubcommand = void (*)(CLI::App& group, Invocation& invocation);
constexpr std::array<AddSubcommand, 1> kSubcommands = {
    add_nccl_drive_command,
};

}  // namespace

void add_nccl_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const group = root.add_subcommand("nccl", "try network plugins of NCCL");
  group->require_subcommand(1);
  group->footer(kExample);
  for (const AddSubcommand add : kSubcommands) add(*group, invocation);
}

}  // namespace heddle::cli
