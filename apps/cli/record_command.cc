// `heddle record`: see record_command.h. Its subcommands are in record/.
#include "apps/cli/record_command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/params.h"
#include "apps/cli/record/contents_report.h"
#include "apps/cli/record/export_command.h"
#include "apps/cli/record/gather_command.h"
#include "apps/cli/record/import_command.h"
#include "apps/cli/terminal.h"
#include "base/config.h"
#include "base/quantity.h"
#include "engine/node_recording.h"
#include "launch/child.h"
#include "recordings/folder_claim.h"
#include "recordings/job_contents.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle record -o job -- heddle run -n 4 -- heddle ranks
  heddle record info job
  heddle record dump job

Every process of the command that uses heddle keeps its newest events in a file of the folder, and
the file survives a killed process. HEDDLE_RECORD=FOLDER does the same without this command.
In the folder's subfolder nodes each machine has a file with what its interfaces, RDMA ports and
kernel report meanwhile, which `heddle diagnose` and `heddle timeline` use.)";

constexpr const char* kInfoExample = R"(Example:
  heddle record info job
  heddle record info job --json)";

constexpr const char* kDumpExample = R"(Example:
  heddle record dump job --kind message_completed

Prints one line of JSON an event, file by file, in the order of time. docs/reference/events.md
describes the events.)";

constexpr const char* kSomeDamaged = "some of it is damaged";
constexpr const char* kNoneRead = "none of it could be read";

struct RecordOptions {
  std::string folder;
  std::string level = "messages";
  std::string max_size = "64M";
  std::string durable = "0";
  bool no_node = false;
  std::vector<std::string> words;
};

std::set<std::string> known_files(const std::string& folder) {
  const auto files = recordings::recording_files(folder);
  if (!files) return {};
  return {files->begin(), files->end()};
}

int own_failure(const Error& error) {
  print_error(error);
  return kProgramFailed;
}

// The settings of the recording, as variables of the command's environment. Errors: kInvalid.
Result<std::vector<std::string>> recording_settings(const RecordOptions& options,
                                                    const std::string& folder) {
  const Result<Bytes> size = parse_size(options.max_size);
  if (!size) return fail(size.error());
  constexpr uint64_t kMebibyte = 1 << 20;
  if (size->count % kMebibyte != 0 || size->count == 0 || size->count / kMebibyte > 65'536) {
    return fail(ErrorCode::kInvalid, "cannot keep recordings of " + options.max_size,
                "they have whole mebibytes, 1MiB to 64GiB", "give a size like 64MiB");
  }
  const Result<Nanos> durable = parse_duration(options.durable);
  if (!durable) return fail(durable.error());
  if (durable->count % seconds(1).count != 0) {
    return fail(ErrorCode::kInvalid, "cannot write to the disk every " + options.durable,
                "it can be done every whole second", "give a duration like 1s");
  }
  std::vector<std::string> made = {
      "HEDDLE_RECORD=" + folder, "HEDDLE_RECORD_LEVEL=" + options.level,
      fmt::format("HEDDLE_RECORD_MEBIBYTES={}", size->count / kMebibyte),
      fmt::format("HEDDLE_RECORD_DURABLE_SECONDS={}", durable->count / seconds(1).count)};
  if (options.no_node) made.emplace_back("HEDDLE_RECORD_NODE=false");
  return made;
}

// Of this machine, until it is destroyed: also when a rank is killed, and says nothing itself.
// Null: it is not wanted.
Result<std::unique_ptr<nodes::NodeRecorder>> record_node(const RecordOptions& options,
                                                         const std::string& folder) {
  const Result<Config> config = Config::load(config_keys(), ConfigSources::of_process());
  if (!config) return fail(config.error());
  const bool wanted = !options.no_node && config->boolean("record_node");
  return engine::record_node({.directory = folder, .node = wanted});
}

int run(const RecordOptions& options) {
  std::error_code unknown;
  const std::string folder = std::filesystem::absolute(options.folder, unknown).string();
  const auto settings = recording_settings(options, folder);
  if (!settings) return own_failure(settings.error());
  const auto claim = recordings::FolderClaim::of(folder);
  if (!claim) return own_failure(claim.error());
  if (!known_files(folder).empty()) {
    return own_failure({ErrorCode::kInUse, "cannot record in " + options.folder,
                        "it holds a recording already, and two of them cannot be separated",
                        "choose another folder, or remove that one"});
  }
  const auto node = record_node(options, folder);
  if (!node) return own_failure(node.error());
  const launch::ChildEnd ended = launch::run_child(options.words, *settings);
  if (ended.failure) print_error(*ended.failure);
  if (!known_files(folder).empty()) return ended.exit_status;
  if (*node) (*node)->discard();
  if (ended.failure) return ended.exit_status;
  const int failed =
      own_failure({ErrorCode::kUnavailable, "nothing was recorded",
                   "no process of the command could record there, or none uses heddle",
                   "see what it printed; record a command that uses heddle or its libraries"});
  return ended.exit_status == kDone ? failed : ended.exit_status;
}

struct ReadOptions {
  std::string path;
  std::string kind;
  bool json = false;
};

int info(const ReadOptions& options) {
  const auto files = recordings::recording_files(options.path);
  if (!files) {
    print_error(files.error());
    return kCouldNotRun;
  }
  const recordings::JobContents job = recordings::contents_of(*files);
  print_warning(job.alignment.warning);
  for (const std::string& why : job.unreadable) print_warning(why);
  if (job.files.empty()) return kCouldNotRun;
  print_contents(job, options.json);
  if (!options.json) print_files(job);
  return job.sound() ? kDone : kFoundWrong;
}

int dump(const ReadOptions& options) {
  const auto files = recordings::recording_files(options.path);
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
      if (text.size() >= params::record::kPrintedAtOnce) print(std::exchange(text, {}));
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

std::shared_ptr<ReadOptions> add_reading(CLI::App& command, int (*run)(const ReadOptions&),
                                         Invocation& invocation) {
  const auto options = std::make_shared<ReadOptions>();
  add_recording(command, options->path);
  command.callback(
      [options, run, &invocation] { invocation.run = [options, run] { return run(*options); }; });
  return options;
}

}  // namespace

void add_record_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const command =
      root.add_subcommand("record", "record a command's communication; read and export recordings");
  command->footer(kExample + program_status_help("N the command's exit status",
                                                 "heddle itself failed, or nothing was recorded"));
  command->require_subcommand(0, 1);
  CLI::App* const about = command->add_subcommand("info", "print what a recording holds");
  about->footer(kInfoExample + exit_status_help(kSomeDamaged, kNoneRead));
  const auto shown = add_reading(*about, info, invocation);
  add_json_option(*about, shown->json);
  CLI::App* const all =
      command->add_subcommand("dump", "print the events of a recording as lines of JSON");
  all->footer(kDumpExample + exit_status_help(kSomeDamaged, kNoneRead));
  const auto dumped = add_reading(*all, dump, invocation);
  const std::vector<std::string> kinds(events::kEventKindNames.begin(),
                                       events::kEventKindNames.end());
  all->add_option("--kind", dumped->kind, "only events of this kind: see docs/reference/events.md")
      ->type_name("KIND")
      ->check(one_of(kinds));

  add_gather_command(*command, invocation);
  add_import_command(*command, invocation);
  add_export_command(*command, invocation);

  const auto options = std::make_shared<RecordOptions>();
  CLI::Option* const folder = add_output_folder(
      *command, options->folder, "the folder for the recording; it is made (required)");
  command
      ->add_option("--level", options->level,
                   "what is recorded; docs/how-to/record_a_job.md describes the levels")
      ->type_name("counters|bins|messages|segments")
      ->check(one_of({"counters", "bins", "messages", "segments"}))
      ->capture_default_str();
  command
      ->add_option("--max-size", options->max_size,
                   "size of each process's file; the newest events are kept")
      ->check(size_value(1 << 20))
      ->type_name("SIZE")
      ->capture_default_str();
  command
      ->add_option("--durable", options->durable,
                   "write to the disk at this interval, so that a crash of the host loses no more; "
                   "0: when the kernel does")
      ->check(duration_value(Nanos{}))
      ->type_name("DURATION")
      ->capture_default_str();
  command->add_flag("--no-node", options->no_node,
                    "record the processes alone, not what their machines report meanwhile");
  add_program(*command, options->words);
  command->callback([options, folder, command, &invocation] {
    if (!command->get_subcommands().empty()) return;
    if (folder->empty() || options->folder.empty()) throw CLI::RequiredError("--output");
    if (options->words.empty()) throw CLI::RequiredError("the command, behind --,");
    invocation.run = [options] { return run(*options); };
  });
}

}  // namespace heddle::cli
