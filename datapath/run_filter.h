// filter_run: takes datagrams out of a run that another datapath received, for a datapath that is
// composed of it and has datagrams of its own on the same port.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "transport/rx_run.h"

namespace heddle::datapath {

// Calls take(datagram) for each datagram of a run of whole frames; what it takes (true) leaves the
// run, and what is behind it moves up. False: nothing is left. Frames are lent for reading and, to
// the datapath that calls this, for changing in place.
template <typename Take>
bool filter_run(transport::RxRun& run, Take take) {
  const uint32_t step = run.step();
  const auto segment = [&run, step](uint32_t index, uint32_t bytes) {
    return std::span<std::byte>(const_cast<std::byte*>(run.frame) + size_t{index} * step, bytes);
  };
  uint32_t kept = 0;
  uint32_t last_bytes = 0;
  for (uint32_t i = 0; i < run.segments; ++i) {
    const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
    const std::span<std::byte> datagram = segment(i, bytes);
    if (take(datagram)) continue;
    if (kept != i) std::memmove(segment(kept, bytes).data(), datagram.data(), bytes);
    last_bytes = bytes;
    ++kept;
  }
  if (kept == run.segments) return true;
  run.frame_step = step;
  run.segments = kept;
  run.last_segment_bytes = last_bytes;
  if (kept == 1) run.segment_bytes = last_bytes;
  return kept > 0;
}

}  // namespace heddle::datapath
