// See gather.h. What a file does not hold (a ring that was not full) is not copied either.
#include "apps/cli/record/gather.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "apps/cli/interrupt.h"
#include "apps/cli/output.h"
#include "apps/cli/record/alignment.h"
#include "apps/cli/record/data_copy.h"
#include "apps/cli/record/job_contents.h"
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

// The folder while it is not whole; gone in the end unless it got its name.
class Unfinished {
 public:
  explicit Unfinished(const std::string& folder)
      : path_(fmt::format("{}.gathering.{}", folder, getpid())) {}
  ~Unfinished() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  // Errors: kSystem, kPermission.
  Result<void> make() {
    made_ = mkdir(path_.c_str(), 0700) == 0;
    if (made_) return {};
    const ErrorCode code = errno == EACCES ? ErrorCode::kPermission : ErrorCode::kSystem;
    return fail(code, "cannot make the folder " + path_, std::strerror(errno),
                "choose another place with -o");
  }
  // Errors: kSystem.
  Result<void> become(const std::string& folder) {
    if (std::rename(path_.c_str(), folder.c_str()) == 0) {
      made_ = false;
      return {};
    }
    return fail(ErrorCode::kSystem, "cannot make the folder " + folder, std::strerror(errno),
                "choose another place with -o");
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  bool made_ = false;
};

std::string without_slash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

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
  const std::string folder = without_slash(named);
  std::error_code unknown;
  if (fs::exists(folder, unknown) && !fs::is_empty(folder, unknown)) {
    return fail(ErrorCode::kInUse, "cannot gather into " + folder, "it is there and not empty",
                "choose another folder with -o");
  }
  std::vector<std::string> files;
  for (const std::string& part : parts) {
    const auto some = recording_files(part);
    if (!some) return fail(some.error());
    files.insert(files.end(), some->begin(), some->end());
  }
  Unfinished unfinished(folder);
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
  if (Result<void> whole = unfinished.become(folder); !whole) return fail(whole.error());
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
