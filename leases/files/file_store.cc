// See file_store.h. On NFS an open() asks the server for a file's times anew, and a write into a
// folder shows what others have changed there: so files are opened to be looked at, and a draft is
// written before the folder is listed.
#include "leases/files/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/clocks.h"
#include "base/interrupt.h"
#include "base/printable.h"
#include "base/write_all.h"
#include "base/write_error.h"
#include "leases/params.h"

namespace heddle::leases {
namespace {

constexpr std::string_view kSuffix = ".lease";
constexpr std::string_view kDraft = ".draft";
constexpr const char* kLock = "/lock";

Nanos time_of(const struct stat& about) {
  return seconds(about.st_mtim.tv_sec) + nanos(about.st_mtim.tv_nsec);
}

std::string what_of(const std::string& folder) {
  return "cannot use the folder of leases '" + folder + "'";
}

Unexpected cannot_use(const std::string& folder, int error) {
  return cannot_write(what_of(folder), error, "free some space there");
}

// Ends after `size` bytes; nothing on an error, or for more.
std::optional<std::string> read_whole(const Descriptor& file, size_t size) {
  std::string text(size + 1, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t part =
        pread(file.number(), text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return std::nullopt;
    if (part == 0) break;
    got += static_cast<size_t>(part);
  }
  if (got > size) return std::nullopt;
  text.resize(got);
  return text;
}

// The names in a folder with this end, in order.
Result<std::set<std::string>> names_with(const std::string& folder, std::string_view suffix) {
  std::error_code error;
  std::set<std::string> names;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(suffix)) names.insert(std::move(name));
  }
  if (!error) return names;
  return cannot_use(folder, error.value());
}

// Of write_draft(): ".JOB.HOLDER.draft", a regular file. Others may keep drafts of their own there.
bool is_draft(const std::string& folder, const std::string& name) {
  const size_t end = name.size() - kDraft.size();
  const size_t point = name.rfind('.', end - 1);
  if (name.front() != '.' || point == std::string::npos || point == 0) return false;
  if (!check_job_name(name.substr(1, point - 1))) return false;
  if (!is_holder(name.substr(point + 1, end - point - 1))) return false;
  struct stat about {};
  return lstat((folder + "/" + name).c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// A name that others gave: names of leases are ASCII, and other bytes may be no UTF-8.
std::string shown(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char each) { return (each & 0x80) != 0; }, '?');
  return printable(std::move(name));
}

// Whether the file is still the one of this name.
bool has_name(const Descriptor& file, const std::string& path) {
  struct stat own {};
  struct stat named {};
  return fstat(file.number(), &own) == 0 && lstat(path.c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

// Made by the first user for all others, whatever the umask. Kernels refuse O_CREAT for others'
// files in folders that all may write to (fs.protected_regular).
Descriptor open_lock(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor file;
  for (int i = 0; i < params::kLockTries; ++i) {
    file = Descriptor(::open(path.c_str(), kFlags));
    if (file.valid() || errno != ENOENT) return file;
    file = Descriptor(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (file.valid() && fchmod(file.number(), 0666) == 0) return file;
    if (errno != EEXIST) return file;
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<Store>> FileStore::open(const std::string& folder, bool make) {
  const std::string what = what_of(folder);
  if (make && mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return cannot_use(folder, errno);
  struct stat about {};
  if (stat(folder.c_str(), &about) != 0) {
    return fail(ErrorCode::kUnavailable, what, std::strerror(errno),
                "give the folder that `heddle plan lease --leases` has, or etcd:HOST:PORT");
  }
  if (!S_ISDIR(about.st_mode)) {
    return fail(ErrorCode::kInvalid, what, "it is no folder", "give a folder, or etcd:HOST:PORT");
  }
  return std::unique_ptr<Store>(new FileStore(folder));
}

// The file is never removed: a new one of the same name would have a lock of its own. A job that
// ends waits for it also after a signal.
Result<Descriptor> FileStore::lock(bool ends) const {
  const std::string path = folder_ + kLock;
  Descriptor file = open_lock(path);
  struct stat about {};
  if (!file.valid() || fstat(file.number(), &about) != 0) return cannot_use(folder_, errno);
  if (!S_ISREG(about.st_mode)) {
    return fail(ErrorCode::kInvalid, what_of(folder_), "its 'lock' is no file", "remove it");
  }
  const Nanos until = steady_now() + params::kMostLockWait;
  while (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return fail(ErrorCode::kUnavailable, what_of(folder_),
                  fmt::format("it cannot be locked: {}", std::strerror(errno)),
                  "mount it with locks (NFS 4, or 3 with lockd), or use etcd");
    }
    if (interrupted() != 0 && !ends) {
      return fail(ErrorCode::kCancelled, what_of(folder_), "a signal came", "");
    }
    if (steady_now() > until) {
      return fail(ErrorCode::kTimeout, what_of(folder_),
                  fmt::format("another process holds its lock for {:.0f} s",
                              to_seconds(params::kMostLockWait)),
                  fmt::format("see `fuser {}` on the hosts; that process may be stopped", path));
    }
    usleep(static_cast<useconds_t>(params::kLockPoll / micros(1)));
  }
  if (has_name(file, path)) return file;
  return fail(ErrorCode::kUnavailable, what_of(folder_), "its file 'lock' was removed meanwhile",
              "leave it there: jobs lock it");
}

// The file server's clock: it sets the time of a file that is touched. Without the right to write
// there, or without a lock's file, it is the own clock.
Result<Nanos> FileStore::now() const {
  const std::string path = folder_ + kLock;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (file.valid() && futimens(file.number(), nullptr) == 0 && fstat(file.number(), &about) == 0) {
    return time_of(about);
  }
  if (errno == EACCES || errno == EPERM || errno == EROFS || errno == ENOENT) return wall_now();
  return cannot_use(folder_, errno);
}

std::optional<FileStore::Found> FileStore::find(const std::string& job, Nanos now) const {
  Found found;
  found.file =
      Descriptor(::open(path_of(job).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  if (!found.file.valid() && errno == ENOENT) return std::nullopt;
  if (!found.file.valid() || fstat(found.file.number(), &about) != 0) {
    found.why = errno == ELOOP ? "it is a symbolic link" : std::strerror(errno);
    return found;
  }
  // A file server's clock that was set back makes no lease older.
  found.age = std::max(now - time_of(about), Nanos{});
  const std::optional<std::string> text =
      S_ISREG(about.st_mode) && about.st_size <= static_cast<off_t>(params::kMostLeaseBytes)
          ? read_whole(found.file, static_cast<size_t>(about.st_size))
          : std::nullopt;
  if (!text) {
    found.why = S_ISREG(about.st_mode) ? "it is too long, or cannot be read" : "it is no file";
    return found;
  }
  Result<Lease> lease = parse_lease(*text, job);
  if (!lease) {
    found.why = lease.error().why;
  } else if (lease->job != job) {
    found.why = "it is the lease of '" + lease->job + "'";
  } else {
    found.lease = std::move(*lease);
  }
  return found;
}

Result<Snapshot> FileStore::read_at(Nanos now) const {
  const Result<std::set<std::string>> names = names_with(folder_, kSuffix);
  if (!names) return fail(names.error());
  Snapshot snapshot;
  for (const std::string& name : *names) {
    const std::string job = name.substr(0, name.size() - kSuffix.size());
    if (!check_job_name(job)) {
      snapshot.ignored.push_back(shown("'" + name + "' is no lease: its name is no job's"));
      continue;
    }
    std::optional<Found> found = find(job, now);
    if (!found) continue;
    if (!found->lease) {
      snapshot.ignored.push_back(shown("'" + name + "' is no lease: " + found->why));
      continue;
    }
    if (!found->live()) continue;
    snapshot.version += fmt::format("{} {} {};", job, found->lease->holder, found->lease->plans);
    const Nanos left = found->lease->ttl - found->age;
    snapshot.live.push_back({*std::move(found->lease), left});
  }
  return snapshot;
}

Result<Snapshot> FileStore::read() {
  const Result<Nanos> time = now();
  if (!time) return fail(time.error());
  return read_at(*time);
}

Result<std::string> FileStore::version() {
  Result<Snapshot> snapshot = read();
  if (!snapshot) return fail(snapshot.error());
  return std::move(snapshot->version);
}

// Durable before it gets its name, so that no crash leaves half a lease.
Result<std::string> FileStore::write_draft(const Lease& lease) const {
  std::string draft = folder_ + "/." + lease.job + "." + lease.holder + std::string(kDraft);
  unlink(draft.c_str());
  int error = 0;
  {
    const Descriptor file(
        ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    const bool written = file.valid() && fchmod(file.number(), 0644) == 0 &&
                         write_all(file.number(), text_of(lease)) && fsync(file.number()) == 0;
    if (written) return draft;
    error = errno;
  }
  unlink(draft.c_str());
  return cannot_use(folder_, error);
}

// Removes leases that have expired.
void FileStore::sweep(Nanos now) const {
  const Result<std::set<std::string>> leases = names_with(folder_, kSuffix);
  if (!leases) return;
  for (const std::string& name : *leases) {
    const std::string job = name.substr(0, name.size() - kSuffix.size());
    if (!check_job_name(job)) continue;
    const std::optional<Found> found = find(job, now);
    if (found && found->lease && !found->live()) unlink(path_of(job).c_str());
  }
}

Result<Published> FileStore::publish(const Snapshot& seen, const Lease& lease, Claim claim) {
  const Result<Descriptor> locked = lock();
  if (!locked) return fail(locked.error());
  // Those that wrote them held the lock, and are gone.
  if (const Result<std::set<std::string>> drafts = names_with(folder_, kDraft); drafts) {
    for (const std::string& name : *drafts) {
      if (is_draft(folder_, name)) unlink((folder_ + "/" + name).c_str());
    }
  }
  const Result<std::string> draft = write_draft(lease);
  if (!draft) return fail(draft.error());
  Result<Published> published = replace(seen, {lease, claim, *draft});
  if (!published || *published != Published::kDone) unlink(draft->c_str());
  return published;
}

// Under the lock.
Result<Published> FileStore::replace(const Snapshot& seen, const Draft& draft) {
  const Lease& lease = draft.lease;
  const Result<Nanos> time = now();
  if (!time) return fail(time.error());
  sweep(*time);
  const Result<Snapshot> is = read_at(*time);
  if (!is) return fail(is.error());
  const std::optional<Found> found = find(lease.job, *time);
  const bool own = found && found->lease && found->lease->holder == lease.holder;
  if (draft.claim == Claim::kNext && !own) return Published::kLost;
  if (found && !own && found->live()) {
    return name_in_use(lease, {*found->lease, found->lease->ttl - found->age});
  }
  // What cannot be read may be the lease of a job that another build runs.
  if (found && !found->lease && found->age < lease.ttl) {
    return fail(ErrorCode::kInUse, "cannot take the lease '" + lease.job + "'",
                fmt::format("there is a file that is no lease: {}", found->why),
                "choose another name with --job, or remove " + path_of(lease.job));
  }
  if (is->version != seen.version) return Published::kChanged;
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (std::rename(draft.path.c_str(), path_of(lease.job).c_str()) != 0)
    return cannot_use(folder_, errno);
  if (folder.valid()) fsync(folder.number());
  return Published::kDone;
}

// Touching the file needs no space on the disk, and no lock, which another job may hold for long: a
// file that was replaced meanwhile is no longer there by its name.
Result<bool> FileStore::renew(const Lease& lease) {
  const Result<Nanos> time = now();
  if (!time) return fail(time.error());
  const std::optional<Found> found = find(lease.job, *time);
  if (!found || !found->live() || found->lease->holder != lease.holder) return false;
  if (futimens(found->file.number(), nullptr) != 0) return cannot_use(folder_, errno);
  return has_name(found->file, path_of(lease.job));
}

Result<void> FileStore::release(const Lease& lease) {
  const Result<Descriptor> locked = lock(true);
  if (!locked) return fail(locked.error());
  const std::optional<Found> found = find(lease.job, {});
  if (!found || !found->lease || found->lease->holder != lease.holder) return {};
  if (unlink(path_of(lease.job).c_str()) == 0 || errno == ENOENT) return {};
  return cannot_use(folder_, errno);
}

}  // namespace heddle::leases
