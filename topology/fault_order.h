// FaultOrder: one fault as people name it ("loss", "down", "blackhole"), and the changes of a link
// that it stands for. The file's fault script and the lab's command share it.
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
  std::string kind;  // one for which is_link_fault() holds
  LinkEnds ends;
  bool one_way = false;      // only from the end that was named first
  BitsPerSec rate;           // of "rate"
  uint32_t per_million = 0;  // of "loss", "corrupt" and "reorder"; 0 ends it
};

// The random faults of both directions as they are now; an order changes one of several.
struct DirectionFaults {
  LinkFaults forward;
  LinkFaults backward;
};

// "down", "up", "blackhole", "rate", "loss", "corrupt", "reorder", "clear".
bool is_link_fault(std::string_view kind);
// Those that say a share of the packets: "loss", "corrupt", "reorder".
bool is_share_fault(std::string_view kind);
// "pause" and "resume".
bool is_host_fault(std::string_view kind);
// "down" and "clear" take both directions; the others may take one.
bool may_be_one_way(std::string_view kind);

// All kinds, for an error's advice.
inline constexpr const char* kFaultKinds =
    "give down, up, blackhole, rate, loss, corrupt, reorder or clear for a link, pause or resume "
    "for a host";

// What the order changes, in order; `original` is the link as the file has it, `now` follows.
std::vector<LinkChange> changes_of(const FaultOrder& order, const Link& original,
                                   DirectionFaults& now);

// One bit of a packet is flipped in that share of them: half in the header, half behind it.
void set_corruption(LinkFaults& faults, uint32_t per_million);
// That share is held back for 50 to 200 µs.
void set_reordering(LinkFaults& faults, uint32_t per_million);

}  // namespace heddle::topology
