// See gather.h. What a file does not hold (a ring that was not full) is not copied either.
#include "recordings/gather.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "events/recording_reader.h"
#include "recordings/alignment.h"
#include "recordings/folders/data_copy.h"
#include "recordings/folders/new_folder.h"
#include "recordings/manifest.h"
#include "recordings/node_files.h"

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

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

// What the machines of the parts reported.
Result<void> copy_nodes(const std::vector<std::string>& parts, const std::string& folder) {
  for (const std::string& part : parts) {
    for (const std::string& file : node_files(part)) {
      const std::string to = nodes_folder(folder);
      if (mkdir(to.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
        return fail(ErrorCode::kSystem, "cannot make the folder " + to, std::strerror(errno),
                    "choose another folder, or make room there");
      }
      const std::string name = free_name(to, file);
      if (name.empty()) continue;
      if (Result<void> copied = copy_data(file, to + "/" + name); !copied) return copied;
    }
  }
  return {};
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
  if (Result<void> copied = copy_nodes(parts, unfinished.path()); !copied) {
    return fail(copied.error());
  }
  if (Result<void> written = write_manifest(unfinished.path(), align_files(copies)); !written) {
    return fail(written.error());
  }
  if (Result<void> whole = unfinished.finish(); !whole) return fail(whole.error());
  return gathered;
}

// One job has each rank in one part, however many processes of it were recorded there.
std::string warning_of_two_jobs(const JobContents& contents, const Gathered& gathered) {
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
      first = fmt::format("rank {} is in {} and in {}", *rank, known->second, part);
  }
  if (clashes == 0) return "";
  return fmt::format("{}{}: of two jobs, each is to be gathered into a folder of its own", first,
                     clashes == 1 ? "" : fmt::format(", and {} more ranks do", clashes - 1));
}

}  // namespace heddle::recordings
