// KeyStore: see key_store.h. In a folder a key is a file, written under another name and renamed,
// so that none is read in part; a counter is the highest number that a file was made for.
#include "collectives/key_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/write_all.h"
#include "collectives/rendezvous/private_folder.h"

namespace heddle::collectives {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(10);

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

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new-" + std::to_string(getpid());
  const Descriptor file(open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return cannot("write", draft, errno);
  const bool written = write_all(file.number(), text);
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

Result<std::string> wait_for_file(const std::string& path, Nanos timeout) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout.count);
  while (true) {
    Result<std::optional<std::string>> text = read_file(path);
    if (!text) return fail(text.error());
    if (*text) return **std::move(text);
    if (std::chrono::steady_clock::now() >= end) {
      return fail(ErrorCode::kTimeout, "cannot read " + path, "no process has written it", "");
    }
    std::this_thread::sleep_for(kLookEvery);
  }
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

KeyStore with_prefix(const KeyStore& store, const std::string& prefix) {
  return {.owner = store.owner,
          .set = [store, prefix](const std::string& key,
                                 const std::string& text) { return store.set(prefix + key, text); },
          .find = [store, prefix](const std::string& key) { return store.find(prefix + key); },
          .wait = [store, prefix](const std::string& key,
                                  Nanos timeout) { return store.wait(prefix + key, timeout); },
          .count = [store, prefix](const std::string& key,
                                   uint32_t more) { return store.count(prefix + key, more); }};
}

Result<KeyStore> folder_store(const std::string& folder) {
  if (Result<void> made = make_private_folder(folder); !made) return fail(made.error());
  return KeyStore{
      .owner = "heddle",
      .set = [folder](const std::string& key,
                      const std::string& text) { return write_file(path_of(folder, key), text); },
      .find = [folder](const std::string& key) { return read_file(path_of(folder, key)); },
      .wait = [folder](const std::string& key,
                       Nanos timeout) { return wait_for_file(path_of(folder, key), timeout); },
      .count = [folder](const std::string& key,
                        uint32_t more) { return count_files(path_of(folder, key), more); }};
}

}  // namespace heddle::collectives
