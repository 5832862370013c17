// See source.h. Files are read, not mapped: holes on a full disk, or truncation during the read,
// would kill this process (SIGBUS).
#include "events/recording/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace heddle::events::recording {
namespace {

class FileSource final : public Source {
 public:
  FileSource(int descriptor, uint64_t size) : descriptor_(descriptor), size_(size) {}
  ~FileSource() override { close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  uint64_t size() const override { return size_; }
  size_t read(uint64_t at, std::byte* to, size_t bytes) const override {
    size_t read = 0;
    while (read < bytes) {
      const ssize_t got =
          pread(descriptor_, to + read, bytes - read, static_cast<off_t>(at + read));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      read += static_cast<size_t>(got);
    }
    return read;
  }
  uint64_t next_data(uint64_t at) const override {
    const off_t found = lseek(descriptor_, static_cast<off_t>(at), SEEK_DATA);
    if (found >= 0) return static_cast<uint64_t>(found);
    return errno == ENXIO ? size_ : at;
  }

 private:
  const int descriptor_;
  const uint64_t size_;
};

class MemorySource final : public Source {
 public:
  MemorySource(const std::byte* start, size_t bytes) : start_(start), size_(bytes) {}

  uint64_t size() const override { return size_; }
  size_t read(uint64_t at, std::byte* to, size_t bytes) const override {
    if (at >= size_) return 0;
    const size_t there = std::min<size_t>(bytes, size_ - at);
    std::memcpy(to, start_ + at, there);
    return there;
  }
  uint64_t next_data(uint64_t at) const override { return at; }

 private:
  const std::byte* const start_;
  const size_t size_;
};

}  // namespace

Result<std::shared_ptr<Source>> open_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    const ErrorCode code = errno == EACCES ? ErrorCode::kPermission : ErrorCode::kUnavailable;
    return fail(code, "cannot open " + path, std::strerror(errno), "give a recording's file");
  }
  struct stat status {};
  fstat(descriptor, &status);
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    close(descriptor);
    return fail(ErrorCode::kInvalid, "cannot read the recording " + path,
                "it is empty, or not a file", "give a file that `heddle record` made");
  }
  return std::shared_ptr<Source>(
      std::make_shared<FileSource>(descriptor, static_cast<uint64_t>(status.st_size)));
}

std::shared_ptr<Source> in_memory(const std::byte* start, size_t bytes) {
  return std::make_shared<MemorySource>(start, bytes);
}

}  // namespace heddle::events::recording
