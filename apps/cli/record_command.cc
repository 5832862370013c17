// `heddle record`: see record_command.h. Here are the options; what is done with them is in
// record/.
#include "apps/cli/record_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/export/export_command.h"
#include "apps/cli/import/import_command.h"
#include "apps/cli/record/child.h"
#include "apps/cli/record/folder_claim.h"
#include "apps/cli/record/gather.h"
#include "apps/cli/record/job_contents.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle ranks
  heddle record info job
  heddle record dump job

Every process of the command that uses heddle keeps its newest events in a file of that folder, also
if it is killed. HEDDLE_RECORD=FOLDER does the same from outside.

Exit status: that of the command; 1 where it ended well but nothing was recorded; 2 where it could
not be run.)";

constexpr const char* kInfoExample = R"(Example:
  heddle record info job --json

Exit status: 0 when all of it could be read, 1 when some is damaged, 2 when none could be read.)";

constexpr const char* kDumpExample = R"(Example:
  heddle record dump job --kind message_completed

Exit status: as that of info.

One line of JSON an event, file by file, in the order of time; docs/reference/events.md explains
them.)";

// Bytes of events; each print is a system call.
constexpr size_t kPrintedAtOnce = 64 << 10;

struct RecordOptions {
  std::string folder;
  std::string level = "messages";
  std::string mebibytes = "64";
  std::string durable = "0";
  std::vector<std::string> words;
};

std::set<std::string> known_files(const std::string& folder) {
  const auto files = recording_files(folder);
  if (!files) return {};
  return {files->begin(), files->end()};
}

int run(const RecordOptions& options) {
  std::error_code unknown;
  const std::string folder = std::filesystem::absolute(options.folder, unknown).string();
  const auto claim = FolderClaim::of(folder);
  if (!claim) {
    print_error(claim.error());
    return kCouldNotRun;
  }
  if (!known_files(folder).empty()) {
    print_error({ErrorCode::kInUse, "cannot record in " + options.folder,
                 "it holds a recording already, and two of them cannot be told apart",
                 "choose another folder, or remove that one"});
    return kCouldNotRun;
  }
  const auto status =
      run_child(options.words, {"HEDDLE_RECORD=" + folder, "HEDDLE_RECORD_LEVEL=" + options.level,
                                "HEDDLE_RECORD_MEBIBYTES=" + options.mebibytes,
                                "HEDDLE_RECORD_DURABLE_SECONDS=" + options.durable});
  if (!status) {
    print_error(status.error());
    return kCouldNotRun;
  }
  if (!known_files(folder).empty()) return *status;
  print_error({ErrorCode::kUnavailable, "nothing was recorded",
               "no process of the command could record there, or none uses heddle",
               "see what it said; record a command that uses heddle or its libraries"});
  return *status == kDone ? kFoundWrong : *status;
}

struct ReadOptions {
  std::string path;
  std::string kind;
  bool json = false;
};

int info(const ReadOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  const JobContents job = contents_of(*files, alignment_of(*files));
  for (const std::string& why : job.unreadable) print_warning(why);
  if (job.files.empty()) return kCouldNotRun;
  if (options.json) {
    // A command line may be of any bytes.
    print(to_json(job).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(to_text(job) + "\n");
    for (const RecordingSummary& file : job.files) print(to_text(file));
  }
  return job.sound() ? kDone : kFoundWrong;
}

int dump(const ReadOptions& options) {
  const auto files = recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  bool sound = true;
  size_t read = 0;
  for (const std::string& file : *files) {
    auto reader = events::RecordingReader::open(file);
    if (!reader) {
      print_error(reader.error());
      sound = false;
      continue;
    }
    ++read;
    events::RecordedEvent recorded;
    std::string text;
    while (reader->next(recorded)) {
      if (text.size() >= kPrintedAtOnce) print(std::exchange(text, {}));
      std::visit(
          [&](const auto& event) {
            if (!options.kind.empty() && options.kind != events::name_of(event.kKind)) return;
            text += to_text(event) + "\n";
          },
          recorded.event);
    }
    print(text);
    sound = sound && reader->sound();
  }
  if (read == 0) return kCouldNotRun;
  return sound ? kDone : kFoundWrong;
}

std::string all_kinds() {
  std::string list;
  for (const std::string_view name : events::kEventKindNames) {
    list.append(list.empty() ? "" : "|").append(name);
  }
  return list;
}

std::shared_ptr<ReadOptions> add_reading(CLI::App& command, int (*run)(const ReadOptions&),
                                         Invocation& invocation) {
  const auto options = std::make_shared<ReadOptions>();
  command.add_option("folder", options->path, "the folder of a recording, or one file of it")
      ->required()
      ->type_name("FILE");
  command.callback(
      [options, run, &invocation] { invocation.run = [options, run] { return run(*options); }; });
  return options;
}

}  // namespace

void add_record_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("record", "run a command and keep what heddle observed in it");
  command->footer(kExample);
  command->require_subcommand(0, 1);
  CLI::App* const tell = command->add_subcommand("info", "say what a recording holds");
  tell->footer(kInfoExample);
  const auto told = add_reading(*tell, info, invocation);
  tell->add_flag("--json", told->json, "print one JSON document");
  CLI::App* const all = command->add_subcommand("dump", "print the events of a recording");
  all->footer(kDumpExample);
  const auto dumped = add_reading(*all, dump, invocation);
  const std::vector<std::string> kinds(events::kEventKindNames.begin(),
                                       events::kEventKindNames.end());
  all->add_option("--kind", dumped->kind, "only events of this kind")
      ->type_name(all_kinds())
      ->check(CLI::IsMember(kinds));

  add_gather_command(*command, invocation);
  add_import_command(*command, invocation);
  add_export_command(*command, invocation);

  const auto options = std::make_shared<RecordOptions>();
  CLI::Option* const folder =
      command->add_option("-o,--output", options->folder, "where to keep it")->type_name("FILE");
  command
      ->add_option("--level", options->level,
                   "bytes on the wire each second, each 100 us, messages too, bursts too")
      ->type_name("counters|bins|messages|segments")
      ->check(CLI::IsMember({"counters", "bins", "messages", "segments"}))
      ->capture_default_str();
  command->add_option("--mebibytes", options->mebibytes, "room of each process")
      ->check(CLI::Range(1, 65'536))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--durable", options->durable,
                   "write to the disk so often, for a crash of the host")
      ->check(CLI::Range(0, 86'400))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_option("command", options->words, "what to run")->type_name("-- CMD ...");
  command->callback([options, folder, command, &invocation] {
    if (!command->get_subcommands().empty()) return;
    if (folder->empty() || options->folder.empty()) throw CLI::RequiredError("--output");
    if (options->words.empty()) throw CLI::RequiredError("the command, behind --,");
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
