// PathShare: what the path scheduler keeps of one path: its place in the order, and what recent
// samples said of it. 3 bytes, of any alignment, so that a path stays within 88.
#pragma once

#include <cstdint>

namespace heddle::transport {

class PathShare {
 public:
  // Paths of a connection, of both kinds.
  static constexpr uint32_t kMostPaths = 2048;
  static constexpr uint8_t kMostRecentLosses = 7;

  // Index in the scheduler's order, where usable paths come first.
  uint32_t place() const { return uint32_t{place_high_} << 8 | place_low_; }
  void set_place(uint32_t place) {
    place_high_ = static_cast<uint8_t>(place >> 8) & 7;
    place_low_ = static_cast<uint8_t>(place);
  }

  // The phase (path_aging.h) of the latest sample or loss.
  uint8_t sampled_in() const { return sampled_in_; }
  // Bursts with loss, as of that phase.
  uint8_t recent_losses() const { return recent_losses_; }
  void set_recent_losses(uint32_t losses, uint8_t phase) {
    recent_losses_ = static_cast<uint8_t>(losses < kMostRecentLosses ? losses : kMostRecentLosses) &
                     kMostRecentLosses;
    sampled_in_ = phase;
  }
  void forget_one_loss() { recent_losses_ -= recent_losses_ > 0 ? 1 : 0; }

  bool marked() const { return marked_; }  // the latest acknowledgement carried new marks
  void set_marked(bool marked) { marked_ = marked; }
  bool excluded() const { return excluded_; }  // a caller fixed payload to other paths
  void set_excluded(bool excluded) { excluded_ = excluded; }

 private:
  uint8_t sampled_in_ = 0;
  uint8_t place_low_ = 0;
  uint8_t place_high_ : 3 = 0;
  uint8_t recent_losses_ : 3 = 0;
  bool marked_ : 1 = false;
  bool excluded_ : 1 = false;
};
static_assert(sizeof(PathShare) == 3);

}  // namespace heddle::transport
