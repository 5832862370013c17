// CreditAccount: what a receiver keeps of one sender: how far its credit goes, how much of that has
// arrived, and how much the sender wants. All counts are cumulative, of bytes on the wire, so that
// a frame that is lost does no harm. It lives in the connection; CreditSource works on it.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

// What a datagram takes on an Ethernet beyond its own bytes: UDP and IPv4 header, Ethernet header
// and checksum, preamble and the gap behind it. Both sides count it.
inline constexpr uint32_t kCreditOverhead = 28 + 38;

// What `datagrams` with `bytes` in all cost.
constexpr uint64_t credit_cost(uint64_t bytes, uint32_t datagrams) {
  return bytes + uint64_t{kCreditOverhead} * datagrams;
}

struct CreditAccount {
  uint32_t connection = 0;  // 0: not joined
  uint32_t advertised_allowance = 0;
  uint64_t limit = 0;        // the sender may send up to here
  uint64_t received = 0;     // of that, arrived or given back
  uint64_t wanted = 0;       // up to here the sender has something to send
  uint64_t written_off = 0;  // of what did not arrive, believed lost
  uint64_t counted = 0;      // its part in CreditSource's outstanding()
  uint64_t segment = 0;      // cost of the largest datagram that came
  uint64_t mark = 0;         // when this much has arrived, a round trip has passed since marked_at
  uint64_t marked_behind = 0;  // upper bound of the bytes in queues at that time
  Nanos marked_at;
  Nanos rtt = Nanos::never();         // shortest time from credit to payload
  Nanos rtt_surely = Nanos::never();  // it is not shorter than this
  Nanos clear_at;                     // when that was so with no queue in its way; zero: never
  Nanos measured_at;                  // when rtt was found
  Nanos send_at;                      // while nothing arrives: when the credit is advertised again
  CreditAccount* next = nullptr;      // in the queue
  uint32_t member = 0;                // index among the members
  uint32_t active = UINT32_MAX;       // index among those that want something
  DemandSerial serial;                // of the newest demand
  uint8_t unanswered = 0;             // times the credit was advertised without any arrival
  bool queued = false;
  bool frame_due = false;  // a credit frame is due
};

}  // namespace heddle::transport
