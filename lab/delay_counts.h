// DelayCounts: what the forwarder counts of each direction, in a file of the lab's folder that it
// keeps mapped, so that the counts are there while it runs and after it has died.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// One direction of a delayed link. Plain numbers of 64 bits, written by one process.
struct DelayCounts {
  uint64_t packets = 0;  // passed on
  uint64_t bytes = 0;
  uint64_t held_bytes = 0;  // in flight now
  uint64_t dropped = 0;     // more was in flight than the link's bound
  uint64_t overrun = 0;     // arrived while the forwarder was kept from running for too long
  uint64_t refused = 0;     // the receiving end was down or had no room
  uint64_t late = 0;        // left more than a tenth of the delay and 50 us after their time
  uint64_t latest_ns = 0;   // how long after its time the latest frame left
};

std::string delay_counts_path(const std::string& lab);

// The file, mapped; `count` directions.
class DelayCountsFile {
 public:
  // Errors: kSystem.
  static Result<DelayCountsFile> create(const std::string& path, size_t count);
  ~DelayCountsFile();
  DelayCountsFile(DelayCountsFile&& other) noexcept;
  DelayCountsFile& operator=(DelayCountsFile&&) = delete;

  void store(size_t direction, const DelayCounts& counts);
  // Whether the file has been removed, and with it the lab.
  bool is_removed() const;

 private:
  DelayCountsFile() = default;

  int descriptor_ = -1;
  uint64_t* numbers_ = nullptr;
  size_t count_ = 0;
};

// All directions; empty where there is no such file.
std::vector<DelayCounts> read_delay_counts(const std::string& path);

}  // namespace heddle::lab
