// See import.h.
#include "recordings/import.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/document.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "recordings/folders/new_folder.h"
#include "recordings/import/bounded_json.h"
#include "recordings/import/flight_recorder.h"
#include "recordings/import/pickle.h"

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

Error of_file(Error error, const std::string& file) {
  error.what += " of " + file;
  return error;
}

// As in the largest communicator, which mostly is that of all.
void name_rank(ForeignProcess& process) {
  std::pair<uint32_t, uint32_t> largest = {0, 0};
  for (const auto& [number, place] : process.communicators) {
    if (place.second > largest.second) largest = place;
  }
  process.identity.emplace_back("rank", std::to_string(largest.first));
}

}  // namespace

void Import::add(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return add_file(path);
  std::vector<std::string> inside;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (at->is_regular_file(unknown)) inside.push_back(at->path().string());
  }
  if (error || inside.empty()) {
    failures_.push_back({ErrorCode::kUnavailable, "cannot import the folder " + path,
                         error ? error.message() : "it holds no files",
                         "give files of the other tool, or folders of them"});
    return;
  }
  std::sort(inside.begin(), inside.end());
  for (const std::string& file : inside) add_file(file);
}

void Import::finish() {
  for (auto& [name, process] : inspector_.take()) {
    name_rank(process);
    processes_.push_back(std::move(process));
  }
  for (ForeignProcess& process : ras_.take()) {
    name_rank(process);
    processes_.push_back(std::move(process));
  }
  for (const ForeignProcess& process : processes_) {
    for (const auto& [why, count] : process.left_out) left_out_[why] += count;
  }
}

Result<void> Import::write(const std::string& folder) const {
  NewFolder unfinished(folder);
  if (Result<void> made = unfinished.make(); !made) return made;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (Result<void> written = write_foreign(processes_[i], unfinished.path(), i); !written) {
      return written;
    }
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "nothing was imported", "it was interrupted",
                  "start it again");
    }
  }
  return unfinished.finish();
}

std::vector<std::string> Import::warnings() const {
  std::vector<std::string> warnings;
  for (const auto& [why, count] : left_out_) {
    warnings.push_back(fmt::format("{} calls were left out: {}", count, printable(why)));
  }
  if (inspector_.without_times() > 0) {
    warnings.push_back(fmt::format(
        "of {} calls the times are unknown, and the times at which they were written are used; set "
        "NCCL_INSPECTOR_DUMP_VERBOSE=1",
        inspector_.without_times()));
  }
  for (const std::string& note : ras_.notes()) warnings.push_back(printable(note));
  return warnings;
}

void Import::add_file(const std::string& file) {
  const Result<std::string> bytes = read_text_file(file, "see what it is called");
  if (!bytes) return failures_.push_back(bytes.error());
  if (looks_like_pickle(*bytes)) {
    // Where each call came from in the program is not needed, and is most of a dump.
    const Result<ForeignJson> document = read_pickle(*bytes, "frames");
    if (!document) return failures_.push_back(of_file(document.error(), file));
    return add_recorder(*document, file);
  }
  const Result<ForeignJson> document = read_json(*bytes);
  if (document && looks_like_flight_recorder(*document)) return add_recorder(*document, file);
  if (document && looks_like_ras(*document)) {
    if (Result<void> added = ras_.add(*document, file); !added) failures_.push_back(added.error());
    return;
  }
  if (!document && document.error().code == ErrorCode::kExhausted) {
    return failures_.push_back(of_file(document.error(), file));
  }
  add_lines(*bytes, file);
}

void Import::add_recorder(const ForeignJson& document, const std::string& file) {
  const std::string name = fs::path(file).stem().string();
  auto process = looks_like_flight_recorder(document)
                     ? read_flight_recorder(document, name)
                     : Result<ForeignProcess>(fail(ErrorCode::kInvalid, "cannot read " + file,
                                                   "it is no dump of the Flight Recorder",
                                                   "give dumps as PyTorch writes them"));
  if (!process) return failures_.push_back(process.error());
  processes_.push_back(std::move(*process));
}

// A process that was killed leaves half a line.
void Import::add_lines(const std::string& bytes, const std::string& file) {
  size_t good = 0;
  size_t bad = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view text = std::string_view(bytes).substr(at, end - at);
    at = end + 1;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Result<ForeignJson> line = read_json(text);
    const bool read = line && looks_like_inspector(*line) && inspector_.add(*line);
    ++(read ? good : bad);
  }
  if (good == 0) {
    failures_.push_back({ErrorCode::kInvalid, "cannot import " + file,
                         "it is neither NCCL Inspector's, the Flight Recorder's nor NCCL RAS's",
                         "give files as these write them"});
  } else if (bad > 0) {
    left_out_["a line of " + file + " that makes no sense"] += bad;
  }
}

}  // namespace heddle::recordings
