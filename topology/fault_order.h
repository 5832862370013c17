// FaultOrder: one fault by its user-visible name ("loss", "down", "blackhole"), and the changes to
// a link that it causes. The fault script of topology files and the lab's command use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/units.h"
#include "topology/names.h"
#include "topology/topology.h"

namespace heddle::topology {

struct FaultOrder {
  Nanos at;          // since the start of the run
  std::string kind;  // is_link_fault() is true for it
  LinkEnds ends;
  bool one_way = false;      // only in the direction from the first named end
  BitsPerSec rate;           // for "rate"
  uint32_t per_million = 0;  // for "loss", "corrupt" and "reorder"; 0 ends the fault
};

// The random faults that are active in both directions. An order changes one of several.
struct DirectionFaults {
  LinkFaults forward;
  LinkFaults backward;
};

// True for "down", "up", "blackhole", "rate", "loss", "corrupt", "reorder", "clear".
bool is_link_fault(std::string_view kind);
// True for kinds that take a share of the packets: "loss", "corrupt", "reorder".
bool is_share_fault(std::string_view kind);
// True for "pause" and "resume".
bool is_host_fault(std::string_view kind);
// False for "down" and "clear", which affect both directions; the others may be limited to one.
bool may_be_one_way(std::string_view kind);

// All kinds, for the advice in an error.
inline constexpr const char* kFaultKinds =
    "give down, up, blackhole, rate, loss, corrupt, reorder or clear for a link, pause or resume "
    "for a host";

// Returns the order's changes in order. `original` is the link as the file describes it; `now` is
// updated.
std::vector<LinkChange> changes_of(const FaultOrder& order, const Link& original,
                                   DirectionFaults& now);

// Flips one bit in this share of the packets: in half of them in the header, in half in the
// payload.
void set_corruption(LinkFaults& faults, uint32_t per_million);
// Delays this share of the packets by 50 to 200 µs.
void set_reordering(LinkFaults& faults, uint32_t per_million);

}  // namespace heddle::topology
