// Train: large packets sent back to back. Behind the slowest link of their route they are apart by
// the time that it takes for each (packet pairs; Dovrolis et al., What do packet dispersion
// techniques measure?, INFOCOM 2001).
#pragma once

#include <cstdint>
#include <span>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::probing {

struct TrainArrival {
  uint32_t number = 0;  // of the packet in its train, from 0
  Nanos at;
};

// The rate of the second half of a train of `sent` packets, each with `packet` bytes: the first
// half may pass a shaper's burst. Zero where fewer than eight of its packets arrived.
BitsPerSec train_rate(std::span<const TrainArrival> arrivals, uint32_t sent, Bytes packet);

}  // namespace heddle::probing
