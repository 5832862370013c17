// KeyStore: keys with texts that the processes of a job share: torch's store, or files in a folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::collectives {

struct KeyStore {
  std::string owner;  // whose it is, in errors: "PyTorch"
  std::function<Result<void>(const std::string& key, const std::string& text)> set;
  // Nothing: the key is not there.
  std::function<Result<std::optional<std::string>>(const std::string& key)> find;
  // Waits for the key. Errors: kTimeout.
  std::function<Result<std::string>(const std::string& key, Nanos timeout)> wait;
  // Adds to a counter, which begins at 0, and returns what it is then; at once on all processes.
  std::function<Result<uint64_t>(const std::string& key, uint32_t more)> count;
};

// The same store, whose keys begin with `prefix`.
KeyStore with_prefix(const KeyStore& store, const std::string& prefix);

// Files in a folder that all processes of the job share and no other user can write to. Errors:
// those of make_private_folder().
Result<KeyStore> folder_store(const std::string& folder);

}  // namespace heddle::collectives
