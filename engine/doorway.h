// Re-exports the unix descriptor channel of the datapath, for callers that use endpoints but no
// datapath.
#pragma once

#include "datapath/doorway.h"

namespace heddle::engine {

using datapath::Delivery;
using datapath::DoorName;
using datapath::Doorway;
using datapath::hand_over;
using datapath::has_handed_over;
using datapath::knock;
using datapath::Parcel;
using datapath::take_over;

}  // namespace heddle::engine
