// The keys of a link in a topology file ([host_link], [switch_link], [[link]], [[override]]): how
// it behaves while all is well, and its random faults; and those of a switch.
#pragma once

#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// What one table says of a link; both directions are alike.
struct LinkSettings {
  LinkShape shape;
  LinkFaults faults;
};

// Takes the link keys of a table; what it does not name is as in `base`.
LinkSettings read_link_settings(TableReader& table, const LinkSettings& base);

// The same with the keys of a switch that say how it keeps packets ([switches], [[switch]]).
SwitchShape read_switch_shape(TableReader& table, const SwitchShape& base);

}  // namespace heddle::topology
