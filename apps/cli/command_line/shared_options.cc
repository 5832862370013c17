// Shared options: see shared_options.h.
#include "apps/cli/command_line/shared_options.h"

#include <fmt/format.h>

#include <cctype>

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "base/quantity.h"
#include "launch/remote_shell.h"

namespace heddle::cli {

CLI::Option* add_json_option(CLI::App& command, bool& json) {
  return command.add_flag("--json", json, "print one JSON document on standard output");
}

CLI::Option* add_lab_option(CLI::App& command, std::string& lab) {
  return command.add_option("--lab", lab, "name of the lab")
      ->type_name(kLabType)
      ->default_str("$HEDDLE_LAB, else the only lab");
}

CLI::Option* add_hosts_option(CLI::App& command, std::string& hosts, const std::string& about) {
  return command.add_option("--hosts", hosts, about)->type_name(kHostListType)->default_str("all");
}

CLI::Option* add_via_option(CLI::App& command, std::string& shell) {
  const auto check = [](const std::string& text) -> std::string {
    const Result<launch::RemoteShell> parsed = launch::parse_remote_shell(text);
    return parsed ? "" : fmt::format("{}; {}", parsed.error().why, parsed.error().todo);
  };
  return command
      .add_option("--via", shell,
                  "the hosts are other machines, NAME or NAME=ADDRESS, on which this starts "
                  "commands: ssh, or the words of another program, as in the examples")
      ->type_name("SHELL")
      ->check(CLI::Validator(check, ""));
}

CLI::Option* add_ranks_option(CLI::App& command, uint32_t& ranks, const std::string& about,
                              uint32_t most, bool short_name) {
  const auto check = [&command, most](const std::string& text) {
    std::string why = refuse_whole_number(text, 1, most);
    const bool names = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
    if (!why.empty() && names && command.get_option_no_throw("--hosts") != nullptr) {
      why += "; to name hosts, write --hosts " + text;
    }
    return why;
  };
  return command.add_option(short_name ? "-n,--ranks" : "--ranks", ranks, about)
      ->type_name("N")
      ->check(CLI::Validator(check, ""));
}

CLI::Option* add_topology_option(CLI::App& command, std::string& file, const std::string& about) {
  return command.add_option("--topology", file, about)->type_name("FILE");
}

CLI::Option* add_seed_option(CLI::App& command, uint64_t& seed) {
  return command.add_option("--seed", seed, "seed of all random choices")
      ->type_name("N")
      ->check(whole_number(0))
      ->capture_default_str();
}

CLI::Option* add_output_option(CLI::App& command, std::string& file) {
  return command.add_option("-o,--output", file, "write to this file")
      ->type_name("FILE")
      ->default_str("standard output");
}

CLI::Option* add_output_folder(CLI::App& command, std::string& folder, const std::string& about) {
  return command.add_option("-o,--output", folder, about)->type_name("FOLDER");
}

CLI::Option* add_recording(CLI::App& command, std::string& path) {
  return command.add_option("recording", path, "the folder of a recording, or one file of it")
      ->required()
      ->type_name("RECORDING");
}

CLI::Option* add_program(CLI::App& command, std::vector<std::string>& words) {
  return command.add_option("program", words, "the command to run; write -- before it")
      ->type_name(kProgramType);
}

}  // namespace heddle::cli
