// PrivateFolder: a new folder of a test, removed with what is in it at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace heddle::nccl::testing {

class PrivateFolder {
 public:
  PrivateFolder() {
    path_ = (std::filesystem::temp_directory_path() / "heddle_nccl.XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace heddle::nccl::testing
