// CubicCurve: the window growth function of CUBIC, RFC 9438 section 4.2, in integers:
//   W_cubic(t) = C x (t - K)^3 + W_max, with C = 0.4 segments per second cubed,
//   K = cubic root of ((W_max - cwnd_epoch) / C).
// Time inside is in ticks of 2^-20 s, whose cube still leaves room in 128 bits; a tick shifts the
// curve by less than a byte at any window that a network could hold.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::transport {

class CubicCurve {
 public:
  explicit CubicCurve(uint64_t segment_bytes);

  // Starts an epoch at window `window` that heads for a plateau at `plateau` (W_max). Both are
  // bytes. A plateau at or below the window starts at the plateau, in the convex part (K = 0).
  void begin(uint64_t plateau, uint64_t window);

  // The window in bytes at `elapsed` after the epoch's start; never below zero.
  uint64_t at(Nanos elapsed) const;

  // When the plateau is reached, after the epoch's start.
  Nanos plateau_after() const;

 private:
  uint64_t segment_;
  uint64_t growth_;       // C x segment, in bytes x 2^16 per second cubed
  uint64_t plateau_ = 0;  // W_max, bytes
  uint64_t k_ticks_ = 0;  // K
};

}  // namespace heddle::transport
