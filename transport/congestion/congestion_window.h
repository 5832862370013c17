// CongestionWindow: a window in bytes that stays within a controller's bounds: two segments (less
// would leave no second segment to reveal that the first was lost) and the limit given at creation.
// Where the limit itself is below two segments, two segments win.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "transport/congestion/controller.h"

namespace heddle::transport {

class CongestionWindow {
 public:
  explicit CongestionWindow(const ControllerOptions& options)
      : segment_(options.segment.count),
        floor_(2 * options.segment.count),
        limit_(std::max(options.limit.count, floor_)) {
    CHECK(segment_ > 0);
    set(options.initial_window.count);
  }

  uint64_t bytes() const { return bytes_; }
  uint64_t segment() const { return segment_; }
  uint64_t floor() const { return floor_; }
  uint64_t limit() const { return limit_; }

  void set(uint64_t bytes) { bytes_ = std::clamp(bytes, floor_, limit_); }
  void grow(uint64_t bytes) { bytes_ = bytes < limit_ - bytes_ ? bytes_ + bytes : limit_; }

 private:
  uint64_t segment_;
  uint64_t floor_;
  uint64_t limit_;
  uint64_t bytes_ = 0;
};

}  // namespace heddle::transport
