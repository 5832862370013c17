// See fetched_recordings.h. GNU tar makes links that lead out of its folder only when all else is
// unpacked, and takes no names that do: nothing is written elsewhere while it runs.
#include "acceptance/fabrics/fetched_recordings.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

#include "acceptance/machine_texts.h"
#include "base/clocks.h"
#include "base/temporary_folder.h"
#include "launch/background_command.h"

namespace heddle::acceptance {
namespace {

namespace fs = std::filesystem;

std::optional<struct stat> state_of(const fs::path& path) {
  struct stat state {};
  return lstat(path.c_str(), &state) == 0 ? std::optional(state) : std::nullopt;
}

// An archive says which rights its folders have; one without them could not be removed.
void make_removable(const fs::path& folder) {
  std::error_code failed;
  fs::permissions(folder, fs::perms::owner_all, failed);
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const auto state = state_of(at->path());
    if (state && S_ISDIR(state->st_mode)) make_removable(at->path());
  }
}

// Why what is in the folder so far is too much; empty: it is not.
std::string excess_in(const fs::path& folder, const UnpackLimits& limits) {
  uint64_t bytes = 0;
  size_t files = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (++files > limits.files) return fmt::format("it has more than {} files", limits.files);
    const auto state = state_of(at->path());
    if (state && S_ISREG(state->st_mode)) bytes += static_cast<uint64_t>(state->st_size);
    if (bytes > limits.bytes) return fmt::format("it has more than {} bytes", limits.bytes);
  }
  return {};
}

Result<void> run_tar(const std::string& archive, const std::string& folder,
                     const UnpackLimits& limits, const std::function<bool()>& interrupted) {
  constexpr const char* kWhat = "cannot unpack what a machine recorded";
  auto running = launch::BackgroundCommand::start(
      {.words = {"tar", "-xzkf", "-", "--no-same-owner", "--no-same-permissions", "-C", folder},
       .input = archive,
       .settings = {},
       .limit = limits.time,
       .keep_output = true},
      steady_now());
  if (!running) return fail(running.error());
  for (;;) {
    const auto ended = running->poll(steady_now());
    const std::string excess = excess_in(folder, limits);
    if (!excess.empty()) return fail(ErrorCode::kSystem, kWhat, excess);
    if (ended && ended->exit_status == 0) return {};
    if (ended && ended->timed_out) return fail(ErrorCode::kSystem, kWhat, "tar takes too long");
    if (ended) return fail(ErrorCode::kSystem, kWhat, machine_text(ended->last_error));
    if (interrupted()) return fail(ErrorCode::kCancelled, kWhat, "interrupted by a signal");
    usleep(10'000);
  }
}

bool are_alike(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(b, failed))) return false;
  if (fs::file_size(a, failed) != fs::file_size(b, failed) || failed) return false;
  std::ifstream one(a, std::ios::binary);
  std::ifstream other(b, std::ios::binary);
  std::vector<char> left(params::kComparedBytes);
  std::vector<char> right(params::kComparedBytes);
  while (one && other) {
    one.read(left.data(), params::kComparedBytes);
    other.read(right.data(), params::kComparedBytes);
    if (one.gcount() != other.gcount()) return false;
    if (std::memcmp(left.data(), right.data(), static_cast<size_t>(one.gcount())) != 0)
      return false;
  }
  return one.eof() && other.eof();
}

// Where a file of this name goes; empty: it is there already.
fs::path free_place(const fs::path& file, const std::string& machine, const fs::path& folder) {
  const std::string name = file.filename();
  for (int number = 0; number < params::kMostNameTries; ++number) {
    const std::string tried = number == 0   ? name
                              : number == 1 ? fmt::format("{}.{}", machine, name)
                                            : fmt::format("{}.{}.{}", machine, number, name);
    if (!state_of(folder / tried)) return folder / tried;
    if (are_alike(file, folder / tried)) return {};
  }
  return folder / name / "in use";  // no such folder: it cannot be moved there
}

// One with several names is a link to another file of the archive.
bool is_recording(const fs::path& file) {
  const auto state = state_of(file);
  return state && S_ISREG(state->st_mode) && state->st_nlink == 1 &&
         file.extension() == ".heddle" && is_machine_name(file.filename());
}

}  // namespace

Result<void> unpack_recordings(const std::string& archive, const std::string& machine,
                               const std::string& folder, const UnpackLimits& limits,
                               const std::function<bool()>& interrupted) {
  const auto cannot = [&](int number) {
    return fail(ErrorCode::kSystem, "cannot write into " + folder, std::strerror(number));
  };
  const auto unpacked = TemporaryFolder::make_in(folder, ".fetched");
  if (!unpacked) return fail(unpacked.error());
  const auto ran = run_tar(archive, unpacked->path(), limits, interrupted);
  make_removable(unpacked->path());
  if (!ran) return ran;
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(unpacked->path(), failed), end; !failed && at != end;
       at.increment(failed)) {
    if (is_recording(at->path())) files.push_back(at->path());
  }
  if (failed) return cannot(failed.value());
  for (const fs::path& file : files) {
    const fs::path place = free_place(file, machine, folder);
    if (place.empty()) continue;
    if (chmod(file.c_str(), S_IRUSR | S_IWUSR) != 0) return cannot(errno);
    if (rename(file.c_str(), place.c_str()) != 0) return cannot(errno);
  }
  return {};
}

}  // namespace heddle::acceptance
