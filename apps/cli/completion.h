// Completion: what may follow on a command line, taken from the tree of commands, and the scripts
// that tell a shell.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace heddle::cli {

struct CompletionOption {
  std::vector<std::string> names;  // "-p", "--port"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // where they are known
  bool takes_file = false;
  bool takes_setting = false;  // `values` are "key=", and more follows
};

// One command of the tree.
struct CompletionCommand {
  std::string words;                                          // "", "perf", "config show"
  std::vector<std::pair<std::string, std::string>> commands;  // name and help
  std::vector<CompletionOption> options;
  std::vector<std::string> arguments;  // values of positional arguments, where known
};

// The tree in the order of its help, the root first.
std::vector<CompletionCommand> completion_tree(const CLI::App& root);

std::string bash_completion(const std::vector<CompletionCommand>& tree);
std::string zsh_completion(const std::vector<CompletionCommand>& tree);

}  // namespace heddle::cli
