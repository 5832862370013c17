// Counts: what the kernel counted on the links of a lab so far: bytes, drops, marks, losses; and
// how busy the processors were. `heddle lab status` drives it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lab/layout.h"

namespace heddle::lab {

// One direction of a link since the lab is up.
struct DirectionCounts {
  Nanos at;            // when they were read, of a steady clock
  uint64_t bytes = 0;  // that left the queue, with Ethernet headers
  uint64_t packets = 0;
  uint64_t queued_bytes = 0;  // in the queue now
  uint64_t dropped = 0;       // by a full queue
  uint64_t marked = 0;        // CE
  uint64_t lost = 0;          // at random
  uint64_t swallowed = 0;     // by a black hole
  uint64_t corrupted = 0;
  uint64_t overtook = 0;  // others that waited in the queue
  uint64_t overrun = 0;   // lost because this machine's processors did not keep up
  uint64_t held = 0;      // of a delayed link: bytes in flight now
  uint64_t late = 0;      // left the forwarder after their time
  Nanos latest;           // by how much at most
};

struct LinkCounts {
  DirectionCounts forward;
  DirectionCounts backward;
};

struct ProcessorTicks {
  uint64_t busy = 0;
  uint64_t all = 0;
};

struct Counts {
  Nanos at;  // of a steady clock
  std::vector<LinkCounts> links;
  ProcessorTicks ticks_before;  // when reading began
  ProcessorTicks ticks_after;   // and ended: what reading costs is not the lab's load
};

// Reads all counters. Errors: kPermission, kUnavailable, kSystem.
Result<Counts> read_counts(const Layout& layout);

// Which part of all processors' time was busy between two counts, 0 to 1.
double busy_share(const Counts& before, const Counts& now);

// A part of read_counts(), for tests: what a time in nanoseconds and the texts of a place's
// /proc/net/dev, of `tc -s -j qdisc` and of `nft -j list counters`, with a line "---" between them,
// add to its links. Errors: kSystem.
Result<void> add_place_counts(const Layout& layout, const Place& place, const std::string& text,
                              Counts& counts);

}  // namespace heddle::lab
