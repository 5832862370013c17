// ResultFile: see result_file.h.
#include "apps/cli/bench/result_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "apps/cli/output.h"
#include "apps/cli/params.h"

namespace heddle::cli {
namespace {

Error cannot_write(const std::string& path, int why, const char* option) {
  return {ErrorCode::kSystem, fmt::format("cannot write '{}'", path), std::strerror(why),
          fmt::format("give another path with {}", option)};
}

}  // namespace

Result<ResultFile> ResultFile::take(const std::string& path, const char* option) {
  ResultFile file;
  file.path_ = path;
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::is_other(status)) return file;
  if (std::filesystem::is_directory(status)) return fail(cannot_write(path, EISDIR, option));
  for (int number = 0; number < params::bench::kMostTries; ++number) {
    const int descriptor =
        ::open(file.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      ::close(descriptor);
      file.made_ = true;
      return file;
    }
    if (errno != EEXIST) break;
    file.path_ = fmt::format("{}.{}", path, number);
  }
  return fail(cannot_write(file.path_, errno, option));
}

ResultFile::ResultFile(ResultFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), made_(std::exchange(other.made_, false)) {}

ResultFile& ResultFile::operator=(ResultFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(made_, other.made_);
  return *this;
}

ResultFile::~ResultFile() {
  if (made_) ::unlink(path_.c_str());
}

Result<void> ResultFile::write(const std::string& text) {
  Result<void> written = write_output(path_, text);
  if (written) made_ = false;
  return written;
}

}  // namespace heddle::cli
