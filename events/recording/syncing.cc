// See syncing.h.
#include "events/recording/syncing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace heddle::events::recording {
namespace {

// Magic numbers from statfs(2).
constexpr uint64_t kTmpfs = 0x01021994;
constexpr uint64_t kRamfs = 0x858458f6;

Unexpected refuse(const std::string& directory, int error) {
  return fail(ErrorCode::kSystem, "cannot record durably in " + directory, std::strerror(error),
              "choose a folder on a disk of this host");
}

// Writes the directory's entries to disk; returns 0 or errno.
int sync_folder(const std::string& directory) {
  const int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const int error = fsync(folder) == 0 ? 0 : errno;
  close(folder);
  return error;
}

}  // namespace

Syncing::Syncing(std::byte* start, size_t bytes, Nanos every)
    : start_(start), bytes_(bytes), every_(every) {}

Result<void> Syncing::start() {
  Result<Thread> thread = start_thread("heddle-sync", [this] { run(); });
  if (!thread) return fail(thread.error());
  thread_ = std::move(*thread);
  return {};
}

Syncing::~Syncing() {
  if (!thread_.joinable()) return;
  if (mutex_.in_child()) {
    thread_.detach();
    return;
  }
  {
    const OwnMutex::Lock lock = mutex_.lock();
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Syncing::run() {
  OwnMutex::Lock lock = mutex_.lock();
  for (bool last = false; !last;) {
    last =
        changed_.wait_for(lock, std::chrono::nanoseconds(every_.count), [this] { return ends_; });
    lock.unlock();
    write();
    lock.lock();
  }
}

void Syncing::write() {
  if (msync(start_, bytes_, MS_SYNC) == 0) {
    ++done_;
    return;
  }
  if (failed_++ == 0) {
    log_warn("recording: the disk does not take it ({}): a crash of this host may lose events",
             std::strerror(errno));
  }
}

Result<void> make_findable(int descriptor, const std::string& directory) {
  struct statfs where {};
  if (fstatfs(descriptor, &where) != 0) return refuse(directory, errno);
  const auto kind = static_cast<uint64_t>(where.f_type);
  if (kind == kTmpfs || kind == kRamfs) {
    return fail(ErrorCode::kInvalid, "cannot record durably in " + directory,
                "that folder is in memory, which a crash of the host does not leave",
                "choose a folder on a disk, or record without --durable");
  }
  if (fsync(descriptor) != 0) return refuse(directory, errno);
  for (const std::string& folder : {directory, directory + "/.."}) {
    if (const int error = sync_folder(folder); error != 0) return refuse(directory, error);
  }
  return {};
}

}  // namespace heddle::events::recording
