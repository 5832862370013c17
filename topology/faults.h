// Faults of a link, as data: rates of random faults, and changes at given times. Rates are parts
// per million of the packets that enter one direction of a link.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::topology {

struct LinkFaults {
  uint32_t loss_per_million = 0;
  uint32_t duplicate_per_million = 0;
  uint32_t corrupt_header_per_million = 0;   // one bit flipped in heddle's header
  uint32_t corrupt_payload_per_million = 0;  // one bit flipped in the payload
  uint32_t reorder_per_million = 0;          // delayed after the link, so that later packets
                                             // overtake it
  Nanos reorder_min;                         // shortest delay
  Nanos reorder_max;                         // longest delay

  bool any() const {
    return (loss_per_million | duplicate_per_million | corrupt_header_per_million |
            corrupt_payload_per_million | reorder_per_million) != 0;
  }
};

enum class LinkDirection : uint8_t { kBoth, kForward, kBackward };  // forward: from a to b

enum class LinkChangeKind : uint8_t {
  kDown,    // all packets on it are lost; routes do not change (a black hole)
  kNotice,  // the sending side detects that it is down: switches stop choosing it
  kUp,      // it works again, and switches choose it again
  kRate,    // packets that begin transmission from then on use `rate`
  kFaults,  // `faults` apply from then on
};

struct LinkChange {
  Nanos at;  // since the start of the run
  uint32_t link = 0;
  LinkDirection direction = LinkDirection::kBoth;
  LinkChangeKind kind = LinkChangeKind::kDown;
  BitsPerSec rate;
  LinkFaults faults;
};

// A host whose processes are paused, or resumed.
struct HostChange {
  Nanos at;  // since the start of the run
  uint32_t host = 0;
  bool paused = true;
};

}  // namespace heddle::topology
