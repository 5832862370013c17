// Store: the receiving side of a copy, without a network. It takes the sender's records in their
// order, writes below one folder, and gives the answers. Its memory does not grow with the number
// of files.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "copying/digest.h"
#include "copying/part_file.h"
#include "copying/records.h"
#include "copying/safe_folder.h"

namespace heddle::copying {

// The folder that the listener's user named.
struct Destination {
  std::string folder;
  bool make = false;  // where it is missing; a dry run makes none
};

class Store {
 public:
  // `stopped` is asked before each record and within long ones: true ends take() with kCancelled.
  explicit Store(
      Destination root, std::function<bool()> stopped = [] { return false; })
      : root_(std::move(root)), stopped_(std::move(stopped)) {}

  // Takes a message, and adds to `answers`; what follows the end of the copy is ignored. A file
  // that fails is an answer. Errors: those that end the copy, as a full disk or records that are
  // none.
  Result<void> take(std::span<const std::byte> message, std::vector<Record>& answers);

  bool greeted() const { return greeted_; }  // any thread may ask
  bool finished() const { return finished_; }
  uint64_t files() const { return files_; }
  uint64_t bytes() const { return bytes_; }  // of content, without what was there
  uint64_t failures() const { return failures_; }

 private:
  struct Writing {
    uint64_t id = 0;
    PartFile part;
    Digest digest;
  };
  struct KeptPart {
    uint64_t id = 0;
    PartRead read;
  };

  Result<void> take(const Record& record);
  Result<void> greet(const Record& hello);
  Result<void> make_folder(const Record& record);
  Result<void> make_link(const Record& record);
  Result<void> leave_folder(const Record& record);
  Result<void> offer(const Record& record);
  Result<void> want(const Record& record, const SafeFolder::Place& place);
  Result<void> start(const Record& record);
  Result<void> append(const Record& record);
  Result<void> end(const Record& record);
  void withdraw();

  const Destination root_;
  const std::function<bool()> stopped_;
  std::optional<SafeFolder> folder_;  // of a dry run nothing, where it would be made
  std::optional<Writing> writing_;    // one file at a time
  std::vector<KeptPart> kept_parts_;
  std::vector<Record>* answers_ = nullptr;  // during take()
  std::atomic<bool> greeted_ = false;
  bool dry_ = false;
  bool finished_ = false;
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;
  uint64_t failures_ = 0;
};

}  // namespace heddle::copying
