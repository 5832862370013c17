// RxPath: one entropy of the peer, as the receiving side sees it: what arrived, and what the next
// acknowledgement says of it.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/recovery/received_numbers.h"

namespace heddle::transport {

struct RxPath {
  ReceivedNumbers numbers;
  Nanos echoed_sent_at;  // send time in the header of the newest packet
  Nanos received_at;     // when that arrived
  uint32_t marked = 0;   // packets that arrived with a congestion mark
  bool pending = false;  // something arrived that no acknowledgement has told
};

}  // namespace heddle::transport
