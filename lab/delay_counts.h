// DelayCounts: the forwarder's counters of each direction, in a mapped file of the lab's folder, so
// that they can be read while it runs and after it has ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::lab {

// One direction of a delayed link. 64-bit integers, written by a single process.
struct DelayCounts {
  uint64_t packets = 0;  // passed on
  uint64_t bytes = 0;
  uint64_t held_bytes = 0;  // in flight now
  uint64_t dropped = 0;     // exceeded the link's limit of bytes in flight
  uint64_t overrun = 0;     // arrived after the forwarder had been descheduled for too long
  uint64_t refused = 0;     // the receiving end was down or its queue was full
  uint64_t late = 0;        // left more than a tenth of the delay and 50 us late
  uint64_t latest_ns = 0;   // how late the latest frame left
};

std::string delay_counts_path(const std::string& lab);

// The mapped file, with `count` directions.
class DelayCountsFile {
 public:
  // Errors: kSystem.
  static Result<DelayCountsFile> create(const std::string& path, size_t count);
  ~DelayCountsFile();
  DelayCountsFile(DelayCountsFile&& other) noexcept;
  DelayCountsFile& operator=(DelayCountsFile&&) = delete;

  void store(size_t direction, const DelayCounts& counts);
  // True once the file, and therefore the lab, has been removed.
  bool is_removed() const;

 private:
  DelayCountsFile() = default;

  int descriptor_ = -1;
  uint64_t* numbers_ = nullptr;
  size_t count_ = 0;
};

// All directions; empty if the file does not exist.
std::vector<DelayCounts> read_delay_counts(const std::string& path);

}  // namespace heddle::lab
