// Lines of results in files: see results.h.
#include "apps/cli/sim/sweep/results.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/document.h"
#include "base/write_error.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Unexpected refuse(const std::string& what, int error) {
  return cannot_write(what, error, "make room there; what is done is kept");
}

void add_lines(const std::string& text, std::set<std::string>& known, SweepRows& all) {
  for (size_t at = 0;;) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) return;  // being written, or never will be
    json row = json::parse(text.substr(at, end - at), nullptr, false);
    at = end + 1;
    const bool sound = row.is_object() && row.contains("key") && row["key"].is_string() &&
                       row.contains("vary") && row["vary"].is_object() &&
                       row.value("exit_status", json(0)).is_number_integer();
    if (!sound) {
      ++all.unreadable;
    } else if (known.insert(row["key"].get<std::string>()).second) {
      all.rows.push_back(std::move(row));
    }
  }
}

}  // namespace

Result<SweepRows> read_sweep(const std::vector<std::string>& folders) {
  SweepRows all;
  std::set<std::string> known;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::vector<std::string> files;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() == ".jsonl") files.push_back(at->path().string());
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return fail(ErrorCode::kUnavailable, "cannot read " + folder, error.message(),
                  "name a folder of results");
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      const Result<std::string> text = read_text_file(file, "see who may read it");
      if (!text) return fail(text.error());
      add_lines(*text, known, all);
    }
  }
  return all;
}

Result<std::unique_ptr<SweepWriter>> SweepWriter::open(const std::string& folder,
                                                       const Share& share) {
  const std::string what = "cannot keep results in " + folder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return refuse(what, error.value());
  const std::string path =
      fmt::format("{}/share_{}_of_{}.jsonl", folder, share.index + 1, share.count);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return refuse(what, errno);
  std::unique_ptr<SweepWriter> writer(new SweepWriter(path, descriptor));
  // Without file locks two sweeps may write the same file; it then has duplicate rows.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kInUse, what, "another sweep writes " + path,
                "wait for it, or give each its own --share");
  }
  if (Result<void> trimmed = writer->trim(); !trimmed) return fail(trimmed.error());
  return writer;
}

SweepWriter::~SweepWriter() { close(descriptor_); }

Result<void> SweepWriter::trim() {
  const Result<std::string> text = read_text_file(path_, "see who may read it");
  if (!text) return fail(text.error());
  const size_t newline = text->rfind('\n');
  const size_t whole = newline == std::string::npos ? 0 : newline + 1;
  if (whole == text->size()) return {};
  if (ftruncate(descriptor_, static_cast<off_t>(whole)) == 0) return {};
  return refuse("cannot write " + path_, errno);
}

Result<void> SweepWriter::add(const json& row) {
  const std::string line = row.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse("cannot write " + path_, errno);
    written += static_cast<size_t>(count);
  }
  if (fdatasync(descriptor_) != 0 && errno != EINVAL) return refuse("cannot write " + path_, errno);
  return {};
}

}  // namespace heddle::cli
