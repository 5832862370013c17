// See chakra_output.h.
#include "apps/cli/workload/chakra_output.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/terminal.h"
#include "base/document.h"
#include "topology/chakra_traces.h"

namespace heddle::cli {
namespace {

std::string check_name(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_' || each == '-';
  });
  return plain ? "" : "'" + name + "' has other characters than letters, digits, '_' and '-'";
}

}  // namespace

void add_chakra_options(CLI::App& command, ChakraOutput& output) {
  command
      .add_option("--format", output.format,
                  "protobuf (NAME.RANK.et), or its JSON mapping (NAME.RANK.json)")
      ->check(one_of({"protobuf", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  command.add_option("--name", output.name, "what the names of traces begin with")
      ->check(check_name)
      ->type_name("NAME")
      ->default_str("the job's name");
}

Result<void> write_chakra(const topology::Job& job, const ChakraOutput& output) {
  const std::string what = "cannot write traces to " + output.folder;
  const auto format =
      output.format == "json" ? topology::ChakraFormat::kJson : topology::ChakraFormat::kProtobuf;
  const auto files =
      topology::chakra_traces_of(job, output.name.empty() ? job.name : output.name, format);
  if (!files) return fail(files.error());
  std::error_code error;
  std::filesystem::create_directories(output.folder, error);
  if (!error && !std::filesystem::is_empty(output.folder, error) && !error) {
    return fail(ErrorCode::kInUse, what, "the folder has files", "name a new or empty one");
  }
  if (error) return fail(ErrorCode::kSystem, what, error.message(), "choose another folder");
  for (const auto& [name, contents] : *files) {
    const std::string path = (std::filesystem::path(output.folder) / name).string();
    if (Result<void> written = write_text_file(path, contents); !written) return written;
  }
  for (const std::string& note : topology::chakra_export_notes(job)) print_warning(note);
  print(fmt::format("{} traces are in {}\n", job.ranks.size(), output.folder));
  return {};
}

}  // namespace heddle::cli
