// ResultFile: a file that is reserved before a measurement and written after it. Existing files are
// never overwritten, as in nccl-tests: FILE, else FILE.0, FILE.1 … A path that is no regular file
// (a pipe, a terminal) is written to directly.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

class ResultFile {
 public:
  ResultFile() = default;  // none
  // Makes it, empty. Errors: kSystem, naming the option to give another with.
  static Result<ResultFile> take(const std::string& path, const char* option);

  ResultFile(ResultFile&& other) noexcept;
  ResultFile& operator=(ResultFile&& other) noexcept;
  // Removes it when nothing was written.
  ~ResultFile();

  const std::string& path() const { return path_; }  // empty: none
  Result<void> write(const std::string& text);

 private:
  std::string path_;
  bool made_ = false;  // by this, and still empty
};

}  // namespace heddle::cli
