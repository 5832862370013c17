// KeyStore: keys with texts that the processes of a job share: torch's store, or files in a folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/nanos.h"
#include "base/result.h"

namespace heddle::collectives {

struct KeyStore {
  std::string owner;  // whose it is, in errors: "PyTorch"
  std::function<Result<void>(const std::string& key, const std::string& text)> set;
  // Nothing: the key is not there.
  std::function<Result<std::optional<std::string>>(const std::string& key)> find;
  // Adds to a counter, which begins at 0, and returns what it is then; at once on all processes.
  std::function<Result<uint64_t>(const std::string& key, uint32_t more)> count;
};

// When a wait for keys ends: at a time, or when `stopped` returns true, which is looked at some ten
// times a second; it may be empty.
class KeyWait {
 public:
  explicit KeyWait(Nanos timeout, std::function<bool()> stopped = {})
      : timeout_(timeout), stopped_(std::move(stopped)) {}

  Nanos timeout() const { return timeout_; }
  const std::function<bool()>& stopped() const { return stopped_; }
  // Nothing: go on.
  std::optional<ErrorCode> ended() const;
  // At least 0.
  Nanos left() const;

 private:
  const Nanos timeout_;
  const std::function<bool()> stopped_;
  // One wait may be for several keys.
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Looks for the key until it is there. Errors: kTimeout, kCancelled, those of the store.
Result<std::string> wait_for_key(const KeyStore& store, const std::string& key,
                                 const KeyWait& wait);

// The same store, whose keys begin with `prefix`.
KeyStore with_prefix(const KeyStore& store, const std::string& prefix);

// Files in a folder that all processes of the job share and no other user can write to. Errors:
// those of make_private_folder().
Result<KeyStore> folder_store(std::string folder);

}  // namespace heddle::collectives
