// What goes wrong on a link, as data: rates of random faults, and changes at stated times.
// Rates are parts per million of the packets that enter one direction of a link.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::topology {

struct LinkFaults {
  uint32_t loss_per_million = 0;
  uint32_t duplicate_per_million = 0;
  uint32_t corrupt_header_per_million = 0;   // one bit flipped in heddle's header
  uint32_t corrupt_payload_per_million = 0;  // one bit flipped behind it
  uint32_t reorder_per_million = 0;          // held back after the link, so that others overtake it
  Nanos reorder_min;                         // for at least so long
  Nanos reorder_max;                         // and at most so long

  bool any() const {
    return (loss_per_million | duplicate_per_million | corrupt_header_per_million |
            corrupt_payload_per_million | reorder_per_million) != 0;
  }
};

enum class LinkDirection : uint8_t { kBoth, kForward, kBackward };  // forward: from a to b

enum class LinkChangeKind : uint8_t {
  kDown,    // everything on it is lost and nothing passes; routes stay (a black hole)
  kNotice,  // the sending side learns that it is down: switches no longer choose it
  kUp,      // it works again and is chosen again
  kRate,    // what starts to be sent from then on takes `rate`
  kFaults,  // `faults` hold from then on
};

struct LinkChange {
  Nanos at;  // since the start of the run
  uint32_t link = 0;
  LinkDirection direction = LinkDirection::kBoth;
  LinkChangeKind kind = LinkChangeKind::kDown;
  BitsPerSec rate;
  LinkFaults faults;
};

// A host whose processes stop, and go on where they were.
struct HostChange {
  Nanos at;  // since the start of the run
  uint32_t host = 0;
  bool paused = true;
};

}  // namespace heddle::topology
