// Exchange: see exchange.h.
#include "nccl/exchange.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.h"
#include "base/write_all.h"

namespace heddle::nccl {
namespace {

// A result of a rank has some kilobytes.
constexpr off_t kMostValueBytes = off_t{16} << 20;

Unexpected refused(const std::string& what, int reason) {
  if (reason == ENOSPC || reason == EDQUOT) {
    return fail(ErrorCode::kExhausted, what, std::strerror(reason),
                "free some space there, or name a folder on another file system");
  }
  const bool denied = reason == EACCES || reason == EPERM || reason == EROFS;
  const ErrorCode code = denied ? ErrorCode::kPermission : ErrorCode::kUnavailable;
  return fail(code, what, std::strerror(reason), "name a folder that all ranks can write to");
}

}  // namespace

Result<ExchangeFolder> ExchangeFolder::open(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return refused(fmt::format("cannot make the exchange folder '{}'", folder), errno);
  }
  struct stat status {};
  const std::string what = fmt::format("cannot use '{}' as the exchange folder", folder);
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return refused(what, ENOTDIR);
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return fail(ErrorCode::kPermission, what, "it belongs to another user, who could change it",
                "name a folder of your own");
  }
  return ExchangeFolder(folder);
}

Result<void> ExchangeFolder::put(const std::string& key, std::string_view value) {
  const std::string path = folder_ + "/" + key;
  const std::string what = fmt::format("cannot publish '{}' in '{}'", key, folder_);
  std::string fresh = path + ".XXXXXX";
  const Descriptor file(mkostemp(fresh.data(), O_CLOEXEC));
  if (!file.valid()) return refused(what, errno);
  const bool written = write_all(file.number(), value);
  const bool linked = written && link(fresh.c_str(), path.c_str()) == 0;
  const int reason = errno;
  unlink(fresh.c_str());
  if (linked) return {};
  if (reason != EEXIST) return refused(what, reason);
  return fail(ErrorCode::kInUse, what,
              "another run, or a rank of the same number, has published it",
              "delete the folder before the next run, and give each rank a number of its own");
}

Result<std::optional<std::string>> ExchangeFolder::get(const std::string& key) {
  const Descriptor file(
      ::open((folder_ + "/" + key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return std::optional<std::string>();
  const std::string what = fmt::format("cannot read '{}' in '{}'", key, folder_);
  if (!file.valid()) return refused(what, errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kMostValueBytes) {
    return fail(ErrorCode::kInvalid, what, "it is not a file that a rank wrote",
                "delete the folder before the next run");
  }
  std::string value;
  std::array<char, 4'096> piece{};
  while (true) {
    const ssize_t got = read(file.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(what, errno);
    if (got == 0) return std::optional<std::string>(std::move(value));
    value.append(piece.data(), static_cast<size_t>(got));
  }
}

}  // namespace heddle::nccl
