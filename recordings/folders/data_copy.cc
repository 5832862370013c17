// See data_copy.h.
#include "recordings/folders/data_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/interrupt.h"
#include "recordings/params.h"

namespace heddle::recordings {
namespace {

// A descriptor that is closed in the end.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

Unexpected refuse(const std::string& file, const char* what, int error) {
  const std::string why = std::strerror(error);
  const std::string said = std::string("cannot ") + what + " " + file;
  switch (error) {
    case EACCES:
    case EPERM:
      return fail(ErrorCode::kPermission, said, why, "see who owns it");
    case ENOSPC:
    case EDQUOT:
      return fail(ErrorCode::kExhausted, said, why, "make room there, or choose another folder");
    case EEXIST:
      return fail(ErrorCode::kInUse, said, why, "choose another folder");
    case ENOENT:
      return fail(ErrorCode::kUnavailable, said, why, "see what it was called");
    default:
      return fail(ErrorCode::kSystem, said, why, "see the system's log");
  }
}

// 0, or why not.
int write_all(int to, const char* bytes, size_t count, off_t at) {
  while (count > 0) {
    const ssize_t wrote = pwrite(to, bytes, count, at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    bytes += wrote;
    count -= static_cast<size_t>(wrote);
    at += wrote;
  }
  return 0;
}

// Where data or a hole begins from there on; none behind the end of the file, which may have been
// cut meanwhile. Errors: kSystem.
Result<std::optional<off_t>> seek(const File& file, const std::string& name, off_t at, int whence) {
  const off_t found = lseek(file.get(), at, whence);
  if (found >= 0) return std::optional(found);
  if (errno == ENXIO) return std::optional<off_t>();
  return refuse(name, "read", errno);
}

}  // namespace

Result<void> copy_data(const std::string& from, const std::string& to) {
  const File source(open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (source.get() < 0) return refuse(from, "read", errno);
  const File copy(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (copy.get() < 0) return refuse(to, "make", errno);
  struct stat status {};
  if (fstat(source.get(), &status) != 0) return refuse(from, "read", errno);
  if (ftruncate(copy.get(), status.st_size) != 0) return refuse(to, "write", errno);
  std::vector<char> bytes(params::kCopiedAtOnce);
  auto data = seek(source, from, 0, SEEK_DATA);
  while (data && *data && **data < status.st_size) {
    off_t at = **data;
    const auto found = seek(source, from, at, SEEK_HOLE);
    if (!found) return fail(found.error());
    const off_t hole = std::min(found->value_or(at), status.st_size);
    while (at < hole) {
      if (interrupted() != 0) {
        return fail(ErrorCode::kCancelled, "nothing was gathered", "it was interrupted",
                    "start it again");
      }
      const size_t most = std::min(bytes.size(), static_cast<size_t>(hole - at));
      const ssize_t got = pread(source.get(), bytes.data(), most, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return refuse(from, "read", errno);
      if (got == 0) return {};  // it was cut meanwhile
      const int error = write_all(copy.get(), bytes.data(), static_cast<size_t>(got), at);
      if (error != 0) return refuse(to, "write", error);
      at += got;
    }
    data = seek(source, from, at, SEEK_DATA);
  }
  return data ? Result<void>() : fail(data.error());
}

}  // namespace heddle::recordings
