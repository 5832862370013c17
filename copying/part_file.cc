// PartFile: see part_file.h. flock() ends with the process, so a killed copy leaves no lock.
#include "copying/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/write_error.h"
#include "copying/params.h"

namespace heddle::copying {
namespace {

std::array<timespec, 2> times_of(int64_t mtime_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t below = ((mtime_ns % kSecond) + kSecond) % kSecond;
  return {{{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
           {.tv_sec = (mtime_ns - below) / kSecond, .tv_nsec = below}}};
}

// The first `bytes` of a file. Returns how many there were, or -1 with errno.
int64_t digest_file(int file, uint64_t bytes, Digest& digest) {
  std::vector<std::byte> piece(params::kReadBytes);
  uint64_t at = 0;
  while (at < bytes) {
    const size_t wanted = std::min<uint64_t>(piece.size(), bytes - at);
    const ssize_t got = pread(file, piece.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    digest.add(std::span(piece).first(static_cast<size_t>(got)));
    at += static_cast<uint64_t>(got);
  }
  return static_cast<int64_t>(at);
}

}  // namespace

Result<uint64_t> read_part(const SafeFolder::Place& place, Digest& digest) {
  const std::string name = part_name(place.name);
  const Descriptor file(
      openat(place.folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return uint64_t{0};
  struct stat found {};
  if (fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) return uint64_t{0};
  const int64_t bytes = digest_file(file.number(), static_cast<uint64_t>(found.st_size), digest);
  if (bytes < 0) {
    return fail(ErrorCode::kSystem, fmt::format("cannot read {}", quoted_path(name)),
                std::strerror(errno), "remove it there");
  }
  return static_cast<uint64_t>(bytes);
}

Result<PartFile> PartFile::open(const SafeFolder::Place& place, const std::string& path) {
  PartFile part;
  part.name_ = place.name;
  part.path_ = path;
  part.folder_ = Descriptor(fcntl(place.folder, F_DUPFD_CLOEXEC, 0));
  const std::string name = part_name(place.name);
  // Another copy may rename the file between the two calls; then this is no longer the part.
  for (int tries = 0; tries < 10; ++tries) {
    part.file_ = Descriptor(openat(place.folder, name.c_str(),
                                   O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    if (!part.file_.valid()) return part.failed(errno);
    if (flock(part.file_.number(), LOCK_EX | LOCK_NB) != 0) break;
    struct stat held {};
    struct stat named {};
    if (fstat(part.file_.number(), &held) != 0) return part.failed(errno);
    if (!S_ISREG(held.st_mode)) return part.failed(EEXIST);
    if (fstatat(place.folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        named.st_ino == held.st_ino && named.st_dev == held.st_dev) {
      part.bytes_ = static_cast<uint64_t>(held.st_size);
      return part;
    }
  }
  return fail(ErrorCode::kInUse, fmt::format("cannot write {}", quoted_path(path)),
              "another copy writes it", "wait for that copy to end, and run this one again");
}

Unexpected PartFile::failed(int error) const {
  return cannot_write(fmt::format("cannot write {}", quoted_path(path_)), error,
                      "free space at the destination, and run the copy again: it goes on");
}

Result<void> PartFile::keep(uint64_t from) {
  if (bytes_ < from) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot go on with {}", quoted_path(path_)),
                "its incomplete file became shorter", "run the copy again");
  }
  if (ftruncate(file_.number(), static_cast<off_t>(from)) != 0) return failed(errno);
  bytes_ = from;
  return {};
}

Result<void> PartFile::read_kept(Digest& digest) {
  const int64_t bytes = digest_file(file_.number(), bytes_, digest);
  return bytes == static_cast<int64_t>(bytes_) ? Result<void>() : failed(bytes < 0 ? errno : EIO);
}

Result<void> PartFile::append(std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put =
        pwrite(file_.number(), data.data(), data.size(), static_cast<off_t>(bytes_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return failed(errno);
    bytes_ += static_cast<uint64_t>(put);
    data = data.subspan(static_cast<size_t>(put));
  }
  return {};
}

Result<void> PartFile::finish(uint32_t mode, int64_t mtime_ns) {
  const auto times = times_of(mtime_ns);
  if (fchmod(file_.number(), mode & 0777) != 0 || futimens(file_.number(), times.data()) != 0) {
    return failed(errno);
  }
  const std::string part = part_name(name_);
  if (renameat(folder_.number(), part.c_str(), folder_.number(), name_.c_str()) == 0) return {};
  const int error = errno;
  remove();
  if (error != EISDIR && error != ENOTEMPTY && error != EEXIST) return failed(error);
  return fail(ErrorCode::kInvalid, fmt::format("cannot write {}", quoted_path(path_)),
              "a folder has this name in the destination", "remove or rename it there");
}

void PartFile::remove() { unlinkat(folder_.number(), part_name(name_).c_str(), 0); }

Result<void> set_attributes(const SafeFolder::Place& place, uint32_t mode, int64_t mtime_ns) {
  struct stat found {};
  const char* const name = place.name.c_str();
  const auto times = times_of(mtime_ns);
  bool done = fstatat(place.folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0;
  if (done && S_ISDIR(found.st_mode)) {
    const Descriptor folder(openat(place.folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    done = folder.valid() && fchmod(folder.number(), mode & 0777) == 0;
  } else if (done && S_ISREG(found.st_mode) && (found.st_mode & 0777) != (mode & 0777)) {
    const Descriptor file(openat(place.folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    done = file.valid() && fchmod(file.number(), mode & 0777) == 0;
  }
  if (done && utimensat(place.folder, name, times.data(), AT_SYMLINK_NOFOLLOW) == 0) return {};
  return cannot_write(fmt::format("cannot set permissions and time of {}", quoted_path(place.name)),
                      errno, "free space there");
}

}  // namespace heddle::copying
