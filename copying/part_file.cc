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
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/write_error.h"
#include "copying/params.h"

namespace heddle::copying {
namespace {

std::array<timespec, 2> times_of(int64_t mtime_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t rest = mtime_ns % kSecond;
  const int64_t before = rest < 0 ? 1 : 0;  // nanoseconds count forwards, also before 1970
  return {{{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
           {.tv_sec = mtime_ns / kSecond - before, .tv_nsec = rest + before * kSecond}}};
}

// The first `bytes` of a file. Returns how many there were, or -1 with errno; ECANCELED: stopped.
int64_t digest_file(int file, uint64_t bytes, Digest& digest,
                    const std::function<bool()>& stopped) {
  std::vector<std::byte> piece(std::min<uint64_t>(params::kReadBytes, bytes));
  uint64_t at = 0;
  while (at < bytes) {
    if (stopped()) {
      errno = ECANCELED;
      return -1;
    }
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

bool has_one_name(const struct stat& found) {
  return S_ISREG(found.st_mode) && found.st_nlink == 1;
}

// Whether only this user's copies write it, and it can be gone on with.
bool is_own(const struct stat& found) {
  return has_one_name(found) && found.st_uid == geteuid() && (found.st_mode & 0600) == 0600;
}

Unexpected not_read(const std::string& name) {
  const bool stopped = errno == ECANCELED;
  return fail(stopped ? ErrorCode::kCancelled : ErrorCode::kSystem,
              fmt::format("cannot read {}", quoted_path(name)),
              stopped ? "the copy ends" : std::strerror(errno), stopped ? "" : "remove it there");
}

bool is_named(const struct stat& held, int folder, const std::string& name) {
  struct stat named {};
  return fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_ino == held.st_ino && named.st_dev == held.st_dev;
}

// Removes what has a part's name and is none. Another copy may hold it nevertheless, as another
// user or with another name for it: then EWOULDBLOCK. Returns 0 or errno.
int remove_other(int folder, const std::string& name) {
  const Descriptor file(
      openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat held {};
  if (file.valid() && fstat(file.number(), &held) == 0 && S_ISREG(held.st_mode)) {
    if (flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return errno;
    if (!is_named(held, folder, name)) return 0;
  }
  return unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT ? 0 : errno;
}

// What has a name, without following it; its permissions do not matter.
Descriptor point_at(const SafeFolder::Place& place) {
  return Descriptor(openat(place.folder, place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

std::string link_to(const Descriptor& point) {
  return fmt::format("/proc/self/fd/{}", point.number());
}

bool is_kind(mode_t mode, Kind kind) {
  return kind == Kind::kFile     ? S_ISREG(mode)
         : kind == Kind::kFolder ? S_ISDIR(mode)
                                 : S_ISLNK(mode);
}

}  // namespace

int64_t nanoseconds_of(const timespec& time) {
  constexpr int64_t kSecond = 1'000'000'000;
  constexpr int64_t kLast = INT64_MAX / kSecond - 1;
  return std::clamp<int64_t>(time.tv_sec, -kLast, kLast) * kSecond + time.tv_nsec;
}

FileState state_of(const struct stat& found) {
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .bytes = static_cast<uint64_t>(found.st_size),
          .modified_ns = nanoseconds_of(found.st_mtim),
          .changed_ns = nanoseconds_of(found.st_ctim)};
}

FileState part_state(const SafeFolder::Place& place) {
  struct stat found {};
  const bool there =
      fstatat(place.folder, part_name(place.name).c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  return there && is_own(found) ? state_of(found) : FileState();
}

Result<PartRead> read_part(const SafeFolder::Place& place, const std::function<bool()>& stopped) {
  const std::string name = part_name(place.name);
  const Descriptor file(
      openat(place.folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  PartRead part;
  struct stat found {};
  if (!file.valid() || fstat(file.number(), &found) != 0 || !is_own(found)) return part;
  part.state = state_of(found);
  part.settled = wall_now() - Nanos{part.state.changed_ns} > params::kSettled;
  const int64_t bytes = digest_file(file.number(), part.state.bytes, part.digest, stopped);
  if (bytes < 0) return not_read(name);
  const bool whole = bytes == found.st_size && fstat(file.number(), &found) == 0;
  if (whole && state_of(found) == part.state) return part;
  return PartRead();  // another copy writes it: nothing is known
}

Result<PartFile> PartFile::open(const SafeFolder::Place& place, const std::string& path) {
  PartFile part;
  part.name_ = place.name;
  part.path_ = path;
  part.folder_ = Descriptor(fcntl(place.folder, F_DUPFD_CLOEXEC, 0));
  const std::string name = part_name(place.name);
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  // Another copy may rename or remove the file between the calls; then it is not the part any more.
  for (int tries = 0; tries < 10; ++tries) {
    struct stat named {};
    const bool there = fstatat(place.folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISDIR(named.st_mode)) return part.failed(EISDIR);
    const bool is_new = !there || !is_own(named);
    const int removed = there && is_new ? remove_other(place.folder, name) : 0;
    if (removed == EWOULDBLOCK) break;
    if (removed != 0) return part.failed(removed);
    const int flags = kFlags | (is_new ? O_CREAT | O_EXCL : 0);
    part.file_ = Descriptor(openat(place.folder, name.c_str(), flags, 0600));
    if (!part.file_.valid() && (errno == EEXIST || errno == ENOENT || errno == ELOOP)) continue;
    if (!part.file_.valid()) return part.failed(errno);
    if (flock(part.file_.number(), LOCK_EX | LOCK_NB) != 0) break;
    struct stat held {};
    if (fstat(part.file_.number(), &held) != 0) return part.failed(errno);
    // A file system may give a new file to another user.
    if ((is_new ? has_one_name(held) : is_own(held)) && is_named(held, place.folder, name)) {
      part.opened_ = state_of(held);
      part.bytes_ = part.opened_.bytes;
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

Result<void> PartFile::read_kept(Digest& digest, const std::function<bool()>& stopped) {
  const int64_t bytes = digest_file(file_.number(), bytes_, digest, stopped);
  if (bytes == static_cast<int64_t>(bytes_)) return {};
  if (bytes < 0) return not_read(path_);
  return failed(EIO);
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
  // With these permissions it would be no part for another copy, so they come behind the name.
  const bool chmod_last = (mode & 0600) != 0600;
  if ((!chmod_last && fchmod(file_.number(), mode & 0777) != 0) ||
      futimens(file_.number(), times.data()) != 0) {
    return failed(errno);
  }
  if (!has_name()) {
    return fail(ErrorCode::kInUse, fmt::format("cannot write {}", quoted_path(path_)),
                "another program removed or replaced its incomplete file", "run the copy again");
  }
  const std::string part = part_name(name_);
  if (renameat(folder_.number(), part.c_str(), folder_.number(), name_.c_str()) == 0) {
    const bool done = !chmod_last || fchmod(file_.number(), mode & 0777) == 0;
    return done ? Result<void>() : failed(errno);
  }
  const int error = errno;
  remove();
  if (error != EISDIR && error != ENOTEMPTY && error != EEXIST) return failed(error);
  return fail(ErrorCode::kInvalid, fmt::format("cannot write {}", quoted_path(path_)),
              "a folder has this name in the destination", "remove or rename it there");
}

void PartFile::remove() {
  if (has_name()) unlinkat(folder_.number(), part_name(name_).c_str(), 0);
}

bool PartFile::has_name() const {
  struct stat held {};
  return fstat(file_.number(), &held) == 0 && is_named(held, folder_.number(), part_name(name_));
}

Result<void> set_attributes(const SafeFolder::Place& place, Kind kind, uint32_t mode,
                            int64_t mtime_ns) {
  const std::string what =
      fmt::format("cannot set permissions and time of {}", quoted_path(place.name));
  const auto times = times_of(mtime_ns);
  const Descriptor point = point_at(place);
  struct stat found {};
  if (!point.valid() || fstat(point.number(), &found) != 0) {
    return cannot_write(what, errno, "free space there");
  }
  if (!is_kind(found.st_mode, kind)) {
    return fail(ErrorCode::kInvalid, what, "something of another kind has this name by now",
                "run the copy again when no other program writes there");
  }
  // By the descriptor: another thing may have the name a moment later. A link cannot be reached so.
  const bool is_link = kind == Kind::kLink;
  const bool timed =
      is_link ? utimensat(place.folder, place.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0
              : utimensat(AT_FDCWD, link_to(point).c_str(), times.data(), 0) == 0;
  const bool changes = !is_link && (found.st_mode & 0777) != (mode & 0777);
  if (timed && (!changes || chmod(link_to(point).c_str(), mode & 0777) == 0)) return {};
  return cannot_write(what, errno, "free space there");
}

Result<void> open_for_writing(const SafeFolder::Place& folder) {
  const Descriptor point = point_at(folder);
  struct stat found {};
  const bool there = point.valid() && fstat(point.number(), &found) == 0 && S_ISDIR(found.st_mode);
  if (there && ((found.st_mode & 0700) == 0700 || found.st_uid != geteuid() ||
                chmod(link_to(point).c_str(), 0700 | (found.st_mode & 0777)) == 0)) {
    return {};
  }
  return cannot_write(fmt::format("cannot write in the folder {}", quoted_path(folder.name)),
                      there ? errno : ENOTDIR, "free space there");
}

}  // namespace heddle::copying
