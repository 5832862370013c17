// A folder that is made whole or not at all: it has another name until it is finished.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::recordings {

class NewFolder {
 public:
  explicit NewFolder(std::string name);
  // Unless it was finished, nothing of it is left.
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  // For its owner only. Errors: kInUse (it is there, and not empty), kPermission, kSystem.
  Result<void> make();
  // Errors: kSystem.
  Result<void> finish();

  const std::string& name() const { return name_; }  // in the end
  const std::string& path() const { return path_; }  // until then

 private:
  std::string name_;
  std::string path_;
  bool made_ = false;
};

}  // namespace heddle::recordings
