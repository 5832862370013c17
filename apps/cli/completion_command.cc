// `heddle completion`: see completion_command.h.
#include "apps/cli/completion_command.h"

#include <memory>
#include <string>

#include "apps/cli/completion.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  source <(heddle completion bash)                          now, in this shell
  heddle completion bash > ~/.local/share/bash-completion/completions/heddle
  heddle completion zsh > "${fpath[1]}/_heddle")";

}  // namespace

void add_completion_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const completion = root.add_subcommand(
      "completion", "print a script that completes heddle's commands in a shell");
  completion->footer(kExample);
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "the shell that will read it")
      ->required()
      ->type_name("bash|zsh");
  completion->callback([&root, shell, &invocation] {
    invocation.run = [&root, shell] {
      if (*shell != "bash" && *shell != "zsh") {
        print_error({ErrorCode::kInvalid, "cannot complete in the shell '" + *shell + "'",
                     "heddle knows bash and zsh", "heddle completion bash"});
        return kCouldNotRun;
      }
      const std::vector<CompletionCommand> tree = completion_tree(root);
      print(*shell == "bash" ? bash_completion(tree) : zsh_completion(tree));
      return kDone;
    };
  });
}

}  // namespace heddle::cli
