// Completion: see completion.h. A value's type tells what may stand there: "a|b" its choices,
// "FILE" a file.
#include "apps/cli/completion.h"

#include <fmt/core.h>

#include "apps/cli/setting_text.h"
#include "apps/cli/settings.h"

namespace heddle::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + 1) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::vector<std::string> choices_of(const std::string& type) {
  if (type.find('|') == std::string::npos) return {};
  return split(type, '|');
}

// "port=", "bind=", ...
std::vector<std::string> setting_beginnings() {
  std::vector<std::string> beginnings;
  for (const ConfigKey& key : config_keys()) beginnings.push_back(std::string(key.name) + "=");
  return beginnings;
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

void add_tree(const CLI::App& command, const std::string& words,
              std::vector<CompletionCommand>& tree) {
  CompletionCommand entry{.words = words};
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (option->get_positional()) {
      for (const std::string& choice : choices_of(type)) entry.arguments.push_back(choice);
      continue;
    }
    CompletionOption& row = entry.options.emplace_back();
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    row.help = option->get_description();
    row.takes_value = option->get_items_expected_max() > 0;
    row.takes_file = type == "FILE";
    row.takes_setting = type == kAssignmentType;
    row.values = row.takes_setting ? setting_beginnings() : choices_of(type);
  }
  const auto subcommands = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* each : subcommands) {
    entry.commands.emplace_back(each->get_name(), each->get_description());
  }
  tree.push_back(std::move(entry));
  for (const CLI::App* each : subcommands) {
    add_tree(*each, words.empty() ? each->get_name() : words + " " + each->get_name(), tree);
  }
}

// Lines of a `case` that follow the words of the command line down the tree into `at`.
std::string descent(const std::vector<CompletionCommand>& tree) {
  std::string text;
  for (const CompletionCommand& command : tree) {
    for (const auto& [name, help] : command.commands) {
      const std::string below = command.words.empty() ? name : command.words + " " + name;
      text += fmt::format("      \"{}/{}\") at=\"{}\" ;;\n", command.words, name, below);
    }
  }
  return text;
}

// The pattern of a `case` on "command/option".
std::string pattern(const CompletionCommand& command, const CompletionOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(fmt::format("\"{}/{}\"", command.words, name));
  }
  return join(names, "|");
}

// Within single quotes, for zsh's _describe: name:help.
std::string described(const std::string& name, const std::string& help) {
  std::string text;
  for (const char letter : help) {
    if (letter == '\'') {
      text += "'\\''";
    } else {
      text += letter;
    }
  }
  return fmt::format("'{}:{}'", name, text);
}

}  // namespace

std::vector<CompletionCommand> completion_tree(const CLI::App& root) {
  std::vector<CompletionCommand> tree;
  add_tree(root, "", tree);
  return tree;
}

std::string bash_completion(const std::vector<CompletionCommand>& tree) {
  std::string values;
  std::string candidates;
  for (const CompletionCommand& command : tree) {
    std::vector<std::string> names;
    for (const auto& [name, help] : command.commands) names.push_back(name);
    for (const std::string& argument : command.arguments) names.push_back(argument);
    for (const CompletionOption& option : command.options) {
      for (const std::string& name : option.names) names.push_back(name);
      if (!option.takes_value) continue;
      const std::string reply = option.takes_file ? std::string("compgen -f -- \"$word\"")
                                                  : fmt::format("compgen -W \"{}\" -- \"$word\"",
                                                                join(option.values, " "));
      // bash says so on standard error where nobody completes: in a test.
      const char* const more =
          option.takes_setting ? "      compopt -o nospace 2>/dev/null || true\n" : "";
      values += fmt::format("    {})\n      mapfile -t COMPREPLY < <({})\n{}      return ;;\n",
                            pattern(command, option), reply, more);
    }
    candidates += fmt::format("    \"{}\") list=\"{}\" ;;\n", command.words, join(names, " "));
  }
  // bash takes "key=value" for three words.
  std::string assigned;
  for (const ConfigKey& key : config_keys()) {
    assigned += fmt::format(
        "    \"={}\") mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$word\"); return ;;\n",
        key.name, join(setting_values(key), " "));
  }
  return fmt::format(R"(# bash completion of heddle; made by: heddle completion bash
# To use it now: source <(heddle completion bash)
_heddle() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  local equals="" at="" list="" i
  if [ "$word" = "=" ]; then
    equals="="
    word=""
  elif [ "$before" = "=" ] && [ "$COMP_CWORD" -gt 1 ]; then
    equals="="
    before="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/${{COMP_WORDS[i]}}" in
{}    esac
  done
  case "$equals$before" in
{}  esac
  case "$at/$before" in
{}  esac
  case "$at" in
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$list" -- "$word")
}}
complete -F _heddle heddle
)",
                     descent(tree), assigned, values, candidates);
}

std::string zsh_completion(const std::vector<CompletionCommand>& tree) {
  std::string values;
  std::string candidates;
  for (const CompletionCommand& command : tree) {
    std::vector<std::string> commands;
    std::vector<std::string> options;
    for (const auto& [name, help] : command.commands) commands.push_back(described(name, help));
    for (const std::string& argument : command.arguments) commands.push_back(argument);
    for (const CompletionOption& option : command.options) {
      for (const std::string& name : option.names) options.push_back(described(name, option.help));
      if (!option.takes_value) continue;
      const std::string reply =
          option.takes_file ? std::string("_files")
                            : fmt::format("compadd {}-- {}", option.takes_setting ? "-S '' " : "",
                                          join(option.values, " "));
      values += fmt::format("    {}) {}; return ;;\n", pattern(command, option), reply);
    }
    candidates += fmt::format("    \"{}\")\n      commands=({})\n      options=({}) ;;\n",
                              command.words, join(commands, " "), join(options, " "));
  }
  return fmt::format(R"(#compdef heddle
# zsh completion of heddle; made by: heddle completion zsh
# To use it now: source <(heddle completion zsh)
_heddle() {{
  local before="${{words[CURRENT-1]}}" at="" i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at/${{words[i]}}" in
{}    esac
  done
  case "$at/$before" in
{}  esac
  case "$at" in
{}  esac
  (( $#commands )) && _describe 'command' commands
  _describe -o 'option' options
}}
if [ "$funcstack[1]" = "_heddle" ]; then
  _heddle "$@"
else
  compdef _heddle heddle
fi
)",
                     descent(tree), values, candidates);
}

}  // namespace heddle::cli
