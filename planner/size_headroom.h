// Headroom: the buffer behind a PFC threshold, which takes what arrives on a link after its
// receiver has decided to send a pause (IEEE 802.1Qbb).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "planner/answer.h"

namespace heddle::planner {

struct HeadroomQuestion {
  double link_bits_per_s = 400e9;
  double meters = 100;
  double largest_frame_bytes = 9'216;   // that the receiver may be sending as it wants to pause
  double lossless_frame_bytes = 9'216;  // that the sender may just have begun
  double response_bits = -1;            // of the sender to a pause; below 0: IEEE 802.3's by rate
  double interface_bits = 0;            // of the four crossings of MAC and PHY together
  double ports = 32;
  double classes = 1;
  double pool_share = 1;    // of all headroom that is reserved as a shared pool
  double buffer_bytes = 0;  // of the switch; 0: not compared
};

// Errors: kInvalid for values that cannot be, or a rate whose response time is not known.
Result<Answer> size_headroom(const HeadroomQuestion& question);

}  // namespace heddle::planner
