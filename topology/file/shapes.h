// The keys of a link in a topology file ([host_link], [switch_link], [[link]], [[override]]): its
// shape and its random faults; and the keys of a switch.
#pragma once

#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// A link's settings in one table, the same for both directions.
struct LinkSettings {
  LinkShape shape;
  LinkFaults faults;
};

// Takes the link keys of a table; missing keys have their value in `base`.
LinkSettings read_link_settings(TableReader& table, const LinkSettings& base);

// The same for the keys of a switch's buffer and balancing ([switches], [[switch]]).
SwitchShape read_switch_shape(TableReader& table, const SwitchShape& base);

}  // namespace heddle::topology
