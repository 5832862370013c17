// Distance: the goodput of RDMA writes over a long cable, which ends where too little is
// outstanding, or where every loss repeats what is in flight.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "planner/answer.h"

namespace heddle::planner {

struct DistanceQuestion {
  double km = 0;
  double base_rtt_s = 10e-6;  // round trip without the cable: hosts and switches
  double link_bits_per_s = 400e9;
  double message_bytes = 1 << 20;
  double outstanding = 1;  // messages of a queue pair that are not acknowledged
  double queue_pairs = 1;
  double loss = 0;           // of packets
  bool go_back_n = true;     // a loss repeats all in flight; false: the lost packet alone
  double mtu_bytes = 4'096;  // payload of a full packet
};

// Errors: kInvalid for values that cannot be.
Result<Answer> size_distance(const DistanceQuestion& question);

}  // namespace heddle::planner
