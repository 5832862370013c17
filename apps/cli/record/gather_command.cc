// See gather_command.h.
#include "apps/cli/record/gather_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/record/contents_report.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"
#include "recordings/gather.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record gather -o job node1/job node2/job node3/job
  heddle record info job

Parts are the folders in which hosts recorded one job, copied here by rsync, scp or a shared disk;
they are not changed. The offsets between the hosts' clocks are estimated from messages between
them and kept in the new folder, so that all commands show times of one clock.)";

struct GatherOptions {
  std::string folder;
  std::vector<std::string> parts;
  bool json = false;
};

int gather(const GatherOptions& options) {
  catch_interrupts();
  const auto gathered = recordings::gather_parts(options.parts, options.folder);
  if (!gathered) {
    print_error(gathered.error());
    return gathered.error().code == ErrorCode::kCancelled ? interrupted_exit_status()
                                                          : kCouldNotRun;
  }
  for (const std::string& file : gathered->twice) {
    print_warning(file + " was given twice and is gathered once");
  }
  const recordings::JobContents contents = recordings::contents_of(gathered->files);
  print_warning(contents.alignment.warning);
  print_warning(recordings::warning_of_two_jobs(contents, *gathered));
  print_contents(contents, options.json);
  return contents.sound() ? kDone : kFoundWrong;
}

}  // namespace

void add_gather_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command =
      record.add_subcommand("gather", "merge the parts of a recording that several hosts made");
  command->footer(kExample + exit_status_help("some of it is damaged and was gathered as it is",
                                              "nothing was gathered"));
  const auto options = std::make_shared<GatherOptions>();
  add_output_folder(*command, options->folder, "the folder to make")->required();
  command->add_option("parts", options->parts, "folders of recordings, or files of them")
      ->required()
      ->type_name("RECORDING");
  add_json_option(*command, options->json);
  command->callback(
      [options, &invocation] { invocation.run = [options] { return gather(*options); }; });
}

}  // namespace heddle::cli
