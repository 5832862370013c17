// Shared options: those that several commands have, declared once so that they mean the same.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::cli {

// "--json": results as one document on standard output.
CLI::Option* add_json_option(CLI::App& command, bool& json);
// "--lab LAB": the lab that the command is about.
CLI::Option* add_lab_option(CLI::App& command, std::string& lab);
// "--hosts HOST[,HOST]...": of a lab.
CLI::Option* add_hosts_option(CLI::App& command, std::string& hosts, const std::string& about);
// "--via SHELL": hosts are other machines.
CLI::Option* add_via_option(CLI::App& command, std::string& shell);
// "-n, --ranks N": a count of ranks. Without `short_name` only the long one.
CLI::Option* add_ranks_option(CLI::App& command, uint32_t& ranks, const std::string& about,
                              uint32_t most, bool short_name = true);
// "--topology FILE".
CLI::Option* add_topology_option(CLI::App& command, std::string& file, const std::string& about);
// "--seed N".
CLI::Option* add_seed_option(CLI::App& command, uint64_t& seed);
// "-o, --output": a file to write to, standard output where it is not given.
CLI::Option* add_output_option(CLI::App& command, std::string& file);
// "-o, --output FOLDER": the new folder for a result.
CLI::Option* add_output_folder(CLI::App& command, std::string& folder, const std::string& about);
// The argument that names a recording.
CLI::Option* add_recording(CLI::App& command, std::string& path);
// The argument of a command that starts another program.
CLI::Option* add_program(CLI::App& command, std::vector<std::string>& words);

}  // namespace heddle::cli
