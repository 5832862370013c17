// See gather.h. What a file does not hold (a ring that was not full) is not copied either.
#include "apps/cli/record/gather.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>

#include "apps/cli/interrupt.h"
#include "apps/cli/output.h"
#include "apps/cli/record/alignment.h"
#include "apps/cli/record/data_copy.h"
#include "apps/cli/record/job_contents.h"
#include "apps/cli/record/new_folder.h"
#include "apps/cli/terminal.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExample = R"(Example:
  heddle record gather -o job node1/job node2/job node3/job
  heddle record info job

Parts are the folders in which hosts recorded one job, brought here by rsync, scp or a shared disk;
they stay as they are. How far the hosts' clocks are apart is found from the messages between them
and kept in the new folder, so that all commands tell the times of one clock.

Exit status: 0 done, 1 when some of it is damaged (it is gathered as it is), 2 when nothing was
gathered.)";

// Of two files, whether they are one recording, copied before.
bool same_recording(const std::string& one, const std::string& other) {
  const auto first = events::RecordingReader::facts_of(one);
  const auto second = events::RecordingReader::facts_of(other);
  return first && second && first->started_realtime_ns == second->started_realtime_ns &&
         first->identity == second->identity;
}

// A name that is free; empty where the same recording is there already.
std::string free_name(const std::string& folder, const fs::path& file) {
  std::string name = file.filename().string();
  for (int number = 2; fs::exists(folder + "/" + name); ++number) {
    if (same_recording(folder + "/" + name, file.string())) return "";
    name = fmt::format("{}.{}{}", file.stem().string(), number, file.extension().string());
  }
  return name;
}

struct GatherOptions {
  std::string folder;
  std::vector<std::string> parts;
  bool json = false;
};

int gather(const GatherOptions& options) {
  catch_interrupts();
  const auto gathered = gather_parts(options.parts, options.folder);
  if (!gathered) {
    print_error(gathered.error());
    return gathered.error().code == ErrorCode::kCancelled ? interrupted_exit_status()
                                                          : kCouldNotRun;
  }
  for (const std::string& file : gathered->twice) {
    print_warning(file + " was given twice and is gathered once");
  }
  const JobContents contents = contents_of(gathered->files, alignment_of(gathered->files));
  if (options.json) {
    print(to_json(contents).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print(to_text(contents));
  }
  return contents.sound() ? kDone : kFoundWrong;
}

}  // namespace

Result<Gathered> gather_parts(const std::vector<std::string>& parts, const std::string& named) {
  NewFolder unfinished(named);
  const std::string& folder = unfinished.name();
  std::vector<std::string> files;
  for (const std::string& part : parts) {
    const auto some = recording_files(part);
    if (!some) return fail(some.error());
    files.insert(files.end(), some->begin(), some->end());
  }
  if (Result<void> made = unfinished.make(); !made) return fail(made.error());
  Gathered gathered;
  std::vector<std::string> copies;
  for (const std::string& file : files) {
    const std::string name = free_name(unfinished.path(), file);
    if (name.empty()) {
      gathered.twice.push_back(file);
      continue;
    }
    const std::string copy = unfinished.path() + "/" + name;
    if (Result<void> copied = copy_data(file, copy); !copied) return fail(copied.error());
    copies.push_back(copy);
    gathered.files.push_back(folder + "/" + name);
  }
  if (Result<void> written = write_output(
          unfinished.path() + "/" + kManifestName,
          to_json(align_files(copies)).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
      !written) {
    return fail(written.error());
  }
  if (Result<void> whole = unfinished.finish(); !whole) return fail(whole.error());
  return gathered;
}

void add_gather_command(CLI::App& record, Invocation& invocation) {
  CLI::App* const command =
      record.add_subcommand("gather", "join the parts of a recording that several hosts kept");
  command->footer(kExample);
  const auto options = std::make_shared<GatherOptions>();
  command->add_option("-o,--output", options->folder, "the folder to make")
      ->required()
      ->type_name("FILE");
  command->add_option("parts", options->parts, "folders of recordings, or files of them")
      ->required()
      ->type_name("FILE ...");
  command->add_flag("--json", options->json, "print one JSON document");
  command->callback(
      [options, &invocation] { invocation.run = [options] { return gather(*options); }; });
}

}  // namespace heddle::cli
