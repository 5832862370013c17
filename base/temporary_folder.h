// TemporaryFolder: a folder of the system's place for temporary files, removed with all in it.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/result.h"

namespace heddle {

class TemporaryFolder {
 public:
  // None yet: path() is empty.
  TemporaryFolder() = default;
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }

  // TMPDIR where that is set, else /tmp.
  static std::string place() {
    const char* const set = std::getenv("TMPDIR");
    return set != nullptr && *set == '/' ? set : "/tmp";
  }

  // Of mode 0700, in place(); its name begins with `prefix`.
  // Errors: kSystem.
  static Result<TemporaryFolder> make(const std::string& prefix) {
    return make_in(place(), prefix, "set TMPDIR to a folder where you may write");
  }
  // The same in another folder, for files that are renamed to a place on its file system.
  static Result<TemporaryFolder> make_in(const std::string& folder, const std::string& prefix,
                                         const std::string& todo = "") {
    std::string name = folder + "/" + prefix + "-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      return fail(ErrorCode::kSystem, fmt::format("cannot make a folder '{}'", name),
                  std::strerror(errno), todo);
    }
    TemporaryFolder made;
    made.path_ = name;
    return made;
  }

  const std::string& path() const { return path_; }

  void remove() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    path_.clear();
  }

 private:
  std::string path_;
};

}  // namespace heddle
