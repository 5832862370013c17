// `heddle completion`: see completion_command.h.
#include "apps/cli/completion_command.h"

#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/completion_words.h"
#include "apps/cli/command_line/shell_scripts.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  source <(heddle completion bash)                       now, in this shell
  heddle completion bash > ~/.local/share/bash-completion/completions/heddle
  heddle completion zsh > "${fpath[1]}/_heddle"
  heddle completion fish > ~/.config/fish/completions/heddle.fish

It completes commands, options, their values, names of files, of labs and of a lab's hosts. make
install has put the scripts where bash, zsh and fish look.

Exit status: 0 done; 2 could not run.)";

// Called by the scripts: prints the candidates for the last word.
void add_words(CLI::App& completion, CLI::App& root, Invocation& invocation) {
  CLI::App* const words = completion.add_subcommand("words", "for the scripts of shells");
  words->group("");
  const auto given = std::make_shared<std::vector<std::string>>();
  words->add_option("words", *given, "the command line behind the program's name");
  words->callback([&root, given, &invocation] {
    invocation.run = [&root, given] {
      print(completions_text(complete(root, *given)));
      return kDone;
    };
  });
}

}  // namespace

void add_completion_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const completion = root.add_subcommand(
      "completion", "print a script that completes heddle's command line in a shell");
  completion->footer(kExample);
  const auto shell = std::make_shared<std::string>();
  CLI::Option* const argument = completion->add_option("shell", *shell, "the shell it is for");
  argument->type_name("bash|zsh|fish")->check(one_of({"bash", "zsh", "fish"}));
  add_words(*completion, root, invocation);
  completion->callback([completion, argument, shell, &invocation] {
    if (!completion->get_subcommands().empty()) return;
    if (argument->count() == 0) throw CLI::RequiredError("the shell, bash, zsh or fish,");
    invocation.run = [shell] {
      print(completion_script(*shell));
      return kDone;
    };
  });
}

}  // namespace heddle::cli
