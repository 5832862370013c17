// See export_command.h.
#include "apps/cli/record/export_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/monitor/database_access.h"
#include "apps/cli/terminal.h"
#include "apps/cli/workload/chakra_output.h"
#include "apps/cli/workload/recorded_job.h"
#include "base/interrupt.h"
#include "recordings/contents.h"
#include "recordings/export.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record export job --clickhouse http://localhost:8123/
  HEDDLE_CLICKHOUSE_USER=me HEDDLE_CLICKHOUSE_PASSWORD=$(cat secret) \
    heddle record export job --clickhouse https://ch.example:8443/ --job run-17
  heddle record export job --chakra traces

--chakra writes the recorded job as Chakra execution traces, a file for each rank, which ASTRA-sim
and heddle sim read: calls, waits and the computation between them.

User and password are read from HEDDLE_CLICKHOUSE_USER and HEDDLE_CLICKHOUSE_PASSWORD, because
other users can read a command line.

Creates the tables processes, flows and moments in the database where they are missing; a column
"job" distinguishes jobs. docs/how-to/record_a_job.md has queries for a matrix and a summary. The
program curl sends the data.

An export that fails changes nothing in the database. --replace replaces the three tables' rows
one table after the other when all rows have arrived, and reports a failure between them.)";

struct Options {
  std::string path;
  ChakraOutput chakra;
  recordings::ExportOptions to = {
      .url = {}, .credentials = {}, .database = "heddle", .job = {}, .replace = false};
};

std::string name_of_folder(const std::string& folder) {
  std::error_code unknown;
  const auto path = std::filesystem::absolute(folder, unknown).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

int run_chakra(const Options& options) {
  const Result<RecordedJob> job = read_recorded_job(options.path);
  if (!job) {
    print_error(job.error());
    return kCouldNotRun;
  }
  for (const std::string& note : job->replay.notes) print_warning(note);
  if (const auto written = write_chakra(job->replay.job, options.chakra); !written) {
    print_error(written.error());
    return kCouldNotRun;
  }
  return job->whole ? kDone : kFoundWrong;
}

int run(Options options) {
  if (!options.chakra.folder.empty()) return run_chakra(options);
  if (options.to.url.empty()) {
    print_error({ErrorCode::kInvalid, "cannot export the recording", "no destination is given",
                 "give --clickhouse URL or --chakra FOLDER"});
    return kCouldNotRun;
  }
  const auto files = recordings::recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  recordings::ExportOptions& to = options.to;
  to.credentials = credentials_of_environment();
  if (to.job.empty()) to.job = name_of_folder(options.path);
  const auto exported = recordings::Export::to(to);
  if (!exported) {
    print_error(exported.error());
    return kCouldNotRun;
  }
  signal(SIGPIPE, SIG_IGN);  // curl may end before it has read all
  catch_interrupts();
  recordings::Export& job = **exported;
  const Result<void> sent = job.send(*files);
  print_warning(job.warning());
  for (const Error& error : job.unreadable()) print_error(error);
  if (!sent) {
    print_error(sent.error());
    return interrupted() != 0 ? interrupted_exit_status() : kCouldNotRun;
  }
  print(fmt::format("{} processes and {} moments of the job {} are in {} on {}\n", job.processes(),
                    job.moments(), to.job, to.database, job.address()));
  return job.whole() ? kDone : kFoundWrong;
}

std::string check_name(const std::string& name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char each) {
    return std::isalnum(each) != 0 || each == '_';
  });
  return plain ? "" : "'" + name + "' has other characters than letters, digits and '_'";
}

}  // namespace

void add_export_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command =
      record.add_subcommand("export", "export a recording to ClickHouse, or as Chakra traces");
  command->footer(kExample + exit_status_help("some of the recording could not be read",
                                              "nothing was exported"));
  const auto options = std::make_shared<Options>();
  add_recording(*command, options->path);
  auto* const url =
      command->add_option("--clickhouse", options->to.url, "address of ClickHouse's HTTP interface")
          ->type_name("URL");
  command->add_option("--chakra", options->chakra.folder, "a new folder for Chakra traces")
      ->type_name("FOLDER")
      ->excludes(url);
  add_chakra_options(*command, options->chakra);
  command->add_option("--database", options->to.database, "database of the tables")
      ->check(check_name)
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--job", options->to.job, "name of the job in the tables")
      ->type_name("NAME")
      ->default_str("the folder's name");
  command->add_flag("--replace", options->to.replace, "replace a job of the same name");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
