// RecordingChanges: what was written to a recording's file since the last look, as ranges of bytes.
// A file into which they are written in order is a copy, which readers can follow too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::events {

namespace recording {
class Source;
}

class RecordingChanges {
 public:
  // Errors: those of RecordingReader::open().
  static Result<RecordingChanges> open(const std::string& path);
  // Of a recording whose header is sound.
  static RecordingChanges over(std::shared_ptr<recording::Source> source);

  // Size of the file, of which most may be a hole. A copy has it from the beginning.
  uint64_t bytes() const;

  // Calls `take` with each range, the records of a block before its header.
  using Take = std::function<void(uint64_t at, std::span<const std::byte> bytes)>;
  void look(const Take& take);

 private:
  struct Block {
    uint64_t sequence = 0;
    uint32_t used = 0;
  };

  RecordingChanges() = default;
  void look_at(uint64_t at, const Take& take);

  std::shared_ptr<recording::Source> source_;
  uint32_t header_bytes_ = 0;
  uint32_t block_bytes_ = 0;
  uint64_t blocks_ = 0;
  std::map<uint64_t, Block> taken_;  // by position, as they were taken
  std::vector<std::byte> header_;    // as it was taken; empty: not yet
  std::vector<std::byte> records_;
};

}  // namespace heddle::events
