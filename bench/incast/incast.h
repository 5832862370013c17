// Incast over heddle: a receiver requests a message from many senders at the same time, round after
// round, and reports the time of each message. incast_main.cc is the program; tcp_peer.py runs the
// same rounds over TCP.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "transport/statistics.h"

namespace heddle::bench {

struct IncastRequest {
  uint32_t senders = 8;
  uint64_t message_bytes = 65'536;
  uint32_t rounds = 20;
  std::string congestion = "credits";
  BitsPerSec receive_rate;  // zero: measured
  uint16_t paths = 8;
  uint16_t port = 18760;
  Nanos patience = seconds(60);  // for one round
};

struct IncastOutcome {
  // [round][sender]: from the request until the message has arrived.
  std::vector<std::vector<Nanos>> times;
};

// Waits for all senders, then runs the rounds, after one warm-up round. Calls `listening` when
// senders may connect. Errors: those of the endpoint; kTimeout.
Result<IncastOutcome> receive_incast(const IncastRequest& request, void (*listening)());

// Answers each request of the receiver on `host` with a message, until all rounds are done. Errors
// as above.
Result<transport::ConnectionStatistics> send_incast(const IncastRequest& request,
                                                    const std::string& host);

}  // namespace heddle::bench
