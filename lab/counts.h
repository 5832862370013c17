// Counts: the kernel's counters of a lab's links (bytes, drops, marks, losses), and the load of the
// processors. `heddle lab status` calls it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "lab/layout.h"

namespace heddle::lab {

// One direction of a link, since the lab was created.
struct DirectionCounts {
  Nanos at;            // time of reading, by a monotonic clock
  uint64_t bytes = 0;  // sent from the queue, with Ethernet headers
  uint64_t packets = 0;
  uint64_t queued_bytes = 0;  // in the queue now
  uint64_t dropped = 0;       // by a full queue
  uint64_t marked = 0;        // CE
  uint64_t lost = 0;          // by random loss
  uint64_t swallowed = 0;     // dropped by a black hole
  uint64_t corrupted = 0;
  uint64_t overtook = 0;  // overtook packets that waited in the queue
  uint64_t overrun = 0;   // lost because this machine's processors were too slow
  uint64_t held = 0;      // of a delayed link: bytes in flight now
  uint64_t late = 0;      // left the forwarder late
  Nanos latest;           // how late the latest frame left
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
  Nanos at;  // by a monotonic clock
  std::vector<LinkCounts> links;
  ProcessorTicks ticks_before;  // when reading began
  ProcessorTicks ticks_after;   // when it ended: the cost of reading is not the lab's load
};

// Reads all counters. Errors: kPermission, kUnavailable, kSystem.
Result<Counts> read_counts(const Layout& layout);

// The busy share of all processors' time between two counts, 0 to 1.
double busy_share(const Counts& before, const Counts& now);

// A part of read_counts(), public for tests: adds to the links of a place the counts in `text`,
// which has a time in nanoseconds and the outputs of /proc/net/dev, `tc -s -j qdisc` and `nft -j
// list counters`, separated by lines "---". Errors: kSystem.
Result<void> add_place_counts(const Layout& layout, const Place& place, const std::string& text,
                              Counts& counts);

}  // namespace heddle::lab
