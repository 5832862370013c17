// See new_folder.h.
#include "recordings/folders/new_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace heddle::recordings {

namespace fs = std::filesystem;

NewFolder::NewFolder(std::string name) : name_(std::move(name)) {
  while (name_.size() > 1 && name_.back() == '/') name_.pop_back();
  path_ = fmt::format("{}.unfinished.{}", name_, getpid());
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (made_) fs::remove_all(path_, ignored);
}

Result<void> NewFolder::make() {
  std::error_code unknown;
  if (fs::exists(name_, unknown) && !fs::is_empty(name_, unknown)) {
    return fail(ErrorCode::kInUse, "cannot make the folder " + name_, "it is there and not empty",
                "choose another with -o");
  }
  made_ = mkdir(path_.c_str(), 0700) == 0;
  if (made_) return {};
  const ErrorCode code = errno == EACCES ? ErrorCode::kPermission : ErrorCode::kSystem;
  return fail(code, "cannot make the folder " + path_, std::strerror(errno),
              "choose another place with -o");
}

Result<void> NewFolder::finish() {
  if (std::rename(path_.c_str(), name_.c_str()) == 0) {
    made_ = false;
    return {};
  }
  return fail(ErrorCode::kSystem, "cannot make the folder " + name_, std::strerror(errno),
              "choose another place with -o");
}

}  // namespace heddle::recordings
