// KeyStore: see key_store.h. In a folder a key is a file, written under another name and renamed,
// so that none is read in part; a counter is the highest number that a file was made for.
#include "collectives/key_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/quantity.h"
#include "base/write_all.h"
#include "collectives/params.h"
#include "collectives/rendezvous/private_folder.h"

namespace heddle::collectives {
namespace {

std::string path_of(const std::string& folder, std::string key) {
  std::replace(key.begin(), key.end(), '/', '.');
  return folder + "/" + key;
}

Unexpected cannot(const char* what, const std::string& path, int error) {
  const ErrorCode code = error == EACCES || error == EPERM ? ErrorCode::kPermission
                         : error == ENOSPC                 ? ErrorCode::kExhausted
                                                           : ErrorCode::kSystem;
  return fail(code, std::string("cannot ") + what + " " + path, std::strerror(error),
              "all ranks need a folder that they share and may write to");
}

// The draft has a name of its own, also where processes of several containers have one number.
Result<void> write_file(const std::string& path, const std::string& text) {
  std::string draft = path + ".new-XXXXXX";
  const bool written = [&] {
    const Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
    return file.valid() && write_all(file.number(), text);
  }();
  if (!written || std::rename(draft.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(draft.c_str());
    return cannot("write", path, error);
  }
  return {};
}

Result<std::optional<std::string>> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT) return std::optional<std::string>();
    return cannot("read", path, errno);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return std::optional(std::move(text).str());
}

Result<uint64_t> count_files(const std::string& path, uint32_t more) {
  uint64_t count = 0;
  while (access((path + "." + std::to_string(count + 1)).c_str(), F_OK) == 0) ++count;
  while (more > 0) {
    const std::string next = path + "." + std::to_string(count + 1);
    const Descriptor file(open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid() && errno != EEXIST) return cannot("write", next, errno);
    if (file.valid()) --more;
    ++count;
  }
  return count;
}

}  // namespace

std::optional<ErrorCode> KeyWait::ended() const {
  if (stopped_ && stopped_()) return ErrorCode::kCancelled;
  return left() == Nanos{} ? std::optional(ErrorCode::kTimeout) : std::nullopt;
}

Nanos KeyWait::left() const {
  if (timeout_ == Nanos::never()) return timeout_;
  const auto waited = (std::chrono::steady_clock::now() - began_) / std::chrono::nanoseconds(1);
  return std::max(Nanos{}, timeout_ - nanos(waited));
}

Result<std::string> wait_for_key(const KeyStore& store, const std::string& key,
                                 const KeyWait& wait) {
  for (auto pause = params::kFirstStorePause;;
       pause = std::min(2 * pause, params::kLongestStorePause)) {
    Result<std::optional<std::string>> text = store.find(key);
    if (!text) return fail(text.error());
    if (*text) return **std::move(text);
    if (const auto ended = wait.ended()) {
      return fail(*ended, "cannot read " + key,
                  *ended == ErrorCode::kTimeout
                      ? "no process has written it within " + duration_text(wait.timeout())
                      : "the wait was ended",
                  "");
    }
    std::this_thread::sleep_for(pause);
  }
}

KeyStore with_prefix(const KeyStore& store, const std::string& prefix) {
  KeyStore part = {.owner = store.owner, .set = {}, .find = {}, .count = {}};
  part.set = [store, prefix](const std::string& key, const std::string& text) {
    return store.set(prefix + key, text);
  };
  part.find = [store, prefix](const std::string& key) { return store.find(prefix + key); };
  part.count = [store, prefix](const std::string& key, uint32_t more) {
    return store.count(prefix + key, more);
  };
  return part;
}

Result<KeyStore> folder_store(std::string folder) {
  // With one at its end the system would follow a link.
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (Result<void> made = make_private_folder(folder); !made) return fail(made.error());
  KeyStore keys = {.owner = "heddle", .set = {}, .find = {}, .count = {}};
  keys.set = [folder](const std::string& key, const std::string& text) {
    return write_file(path_of(folder, key), text);
  };
  keys.find = [folder](const std::string& key) { return read_file(path_of(folder, key)); };
  keys.count = [folder](const std::string& key, uint32_t more) {
    return count_files(path_of(folder, key), more);
  };
  return keys;
}

}  // namespace heddle::collectives
