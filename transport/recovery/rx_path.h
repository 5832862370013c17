// RxPath: one entropy of the peer, as the receiving side sees it: what arrived, and what the next
// acknowledgement says of it. 40 bytes, since there may be 256 a connection.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/recovery/received_numbers.h"

namespace heddle::transport {

struct RxPath {
  ReceivedNumbers numbers;
  Nanos echoed_sent_at;       // send time in the header of the newest packet
  Nanos received_at;          // when that arrived
  uint32_t marked = 0;        // packets that arrived with a congestion mark
  uint16_t next_pending = 0;  // the path that is acknowledged after it, where that is pending
  bool pending : 1 = false;   // something arrived that is not acknowledged
  bool quiet : 1 = false;     // idle: its acknowledgement is not repeated
  uint8_t arrived_at = 0;     // the latest, in units of 2^20 ns; wraps, so it counts until `quiet`
};
static_assert(sizeof(RxPath) == 40);

}  // namespace heddle::transport
