// RunKey: a cluster key for one run, which only its ranks are to have. It is in memory and in no
// file system: ranks open it by the path of a descriptor of the process that holds it, which only
// the same user (and root) can open, and which is gone when that process has ended.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::launch {

class RunKey {
 public:
  // A new one, from the system's generator. Errors: kSystem.
  static Result<RunKey> make();
  ~RunKey();
  RunKey(RunKey&& other) noexcept;
  RunKey& operator=(RunKey&&) = delete;

  // What HEDDLE_KEY_FILE is to be, in processes of this user, for as long as this process lives and
  // holds the key.
  std::string path() const;

 private:
  explicit RunKey(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace heddle::launch
