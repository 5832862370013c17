// See gather.h. What a file does not hold (a ring that was not full) is not copied either.
#include "apps/cli/record/gather.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/output.h"
#include "apps/cli/record/alignment.h"
#include "apps/cli/record/data_copy.h"
#include "apps/cli/record/job_contents.h"
#include "apps/cli/record/new_folder.h"
#include "apps/cli/terminal.h"
#include "base/interrupt.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExample = R"(Example:
  heddle record gather -o job node1/job node2/job node3/job
  heddle record info job

Parts are the folders in which hosts recorded one job, copied here by rsync, scp or a shared disk;
they are not changed. The offsets between the hosts' clocks are estimated from messages between
them and kept in the new folder, so that all commands show times of one clock.)";

// Errors: kInvalid (of the files none is a recording that can be read).
Result<void> check_any_readable(const std::vector<std::string>& files) {
  std::optional<Error> first;
  for (const std::string& file : files) {
    const auto facts = events::RecordingReader::facts_of(file);
    if (facts) return {};
    if (!first) first = facts.error();
  }
  return fail(ErrorCode::kInvalid, "nothing was gathered",
              fmt::format("of {} files none is a recording that can be read; of the first, {}",
                          files.size(), first->message()),
              "name folders that `heddle record -o` made, or files of them");
}

// As its launcher says, else as in its largest communicator.
std::optional<int64_t> rank_of(const RecordingSummary& summary) {
  const std::string named = summary.identity("rank");
  int64_t rank = 0;
  const auto [end, error] = std::from_chars(named.data(), named.data() + named.size(), rank);
  if (error == std::errc() && end == named.data() + named.size()) return rank;
  const auto largest =
      std::max_element(summary.memberships.begin(), summary.memberships.end(),
                       [](const auto& one, const auto& other) { return one.size < other.size; });
  if (largest == summary.memberships.end()) return std::nullopt;
  return largest->rank;
}

// One job has each rank in one part, however many processes of it were recorded there.
void warn_of_two_jobs(const JobContents& contents, const Gathered& gathered) {
  std::map<int64_t, std::string> part_of;
  uint64_t clashes = 0;
  std::string first;
  for (const RecordingSummary& summary : contents.files) {
    const std::optional<int64_t> rank = rank_of(summary);
    if (!rank) continue;
    const std::string& part = gathered.part_of.at(summary.file);
    const auto [known, is_new] = part_of.emplace(*rank, part);
    if (is_new || known->second == part) continue;
    if (clashes++ == 0)
      first = fmt::format("rank {} stands in {} and in {}", *rank, known->second, part);
  }
  if (clashes == 0) return;
  print_warning(
      fmt::format("{}{}: of two jobs, each is to be gathered into a folder of its own", first,
                  clashes == 1 ? "" : fmt::format(", and {} more ranks do", clashes - 1)));
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
  const bool has_suffix = file.extension() == kRecordingSuffix;
  const std::string stem = (has_suffix ? file.stem() : file.filename()).string();
  std::string name = stem + kRecordingSuffix;
  for (int number = 2; fs::exists(folder + "/" + name); ++number) {
    if (same_recording(folder + "/" + name, file.string())) return "";
    name = fmt::format("{}.{}{}", stem, number, kRecordingSuffix);
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
  warn_of_two_jobs(contents, *gathered);
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
  if (Result<void> any = check_any_readable(files); !any) return fail(any.error());
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
    gathered.part_of[gathered.files.back()] = fs::absolute(file).lexically_normal().parent_path();
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
