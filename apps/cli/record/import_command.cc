// See import_command.h.
#include "apps/cli/record/import_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/record/contents_report.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "recordings/import.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record import -o job nccl-inspector-1234/      # times: NCCL_INSPECTOR_DUMP_VERBOSE=1
  heddle record import -o job nccl_trace_rank_*           # PyTorch's Flight Recorder
  heddle matrix job --expected
  ncclras -f json > 1.json; sleep 60; ncclras -f json > 2.json
  heddle record import -o hang 1.json 2.json; heddle diagnose hang

Reads NCCL Inspector's JSON, and dumps of PyTorch's Flight Recorder as JSON or pickle. Of a pickle
only data are read: no code in it is run. These files have the calls and their durations; they
have no measured traffic, so the matrix shows the traffic expected by the algorithms' formulas.
Snapshots of NCCL's RAS have how many calls each rank has made: two of them show a rank that has
not made a call in which others wait.)";

struct ImportOptions {
  std::string folder;
  std::vector<std::string> files;
  bool json = false;
};

int run(const ImportOptions& options) {
  recordings::Import import;
  for (const std::string& path : options.files) import.add(path);
  import.finish();
  for (const Error& failure : import.failures()) print_error(failure);
  for (const std::string& warning : import.warnings()) print_warning(warning);
  if (import.empty()) return kCouldNotRun;
  catch_interrupts();  // before, nothing was made that could be left
  if (Result<void> written = import.write(options.folder); !written) {
    print_error(written.error());
    return written.error().code == ErrorCode::kCancelled ? interrupted_exit_status() : kCouldNotRun;
  }
  if (const auto files = recordings::recording_files(options.folder)) {
    const recordings::JobContents contents = recordings::contents_of(*files);
    print_warning(contents.alignment.warning);
    print_contents(contents, options.json);
  }
  return import.whole() ? kDone : kFoundWrong;
}

}  // namespace

void add_import_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command =
      record.add_subcommand("import", "make a recording from files of NCCL or PyTorch");
  command->footer(kExample + exit_status_help("some of it was left out", "nothing was imported"));
  const auto options = std::make_shared<ImportOptions>();
  add_output_folder(*command, options->folder, "the folder to make")->required();
  command->add_option("files", options->files, "files of the other tool, or folders of them")
      ->required()
      ->type_name("FILE");
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace heddle::cli
