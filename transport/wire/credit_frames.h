// The two frames of receiver credits: what a sender wants, and how far it may send.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/wire/cursor.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

// All in cumulative bytes on the wire since the connection began.
struct DemandFrame {
  DemandSerial serial;   // the newest counts
  uint64_t settled = 0;  // sent and arrived, or given back
  uint64_t wanted = 0;   // up to here there is something to send
};

struct CreditFrame {
  uint64_t limit = 0;      // bytes that may be sent, since the beginning
  uint32_t allowance = 0;  // the most credit that may be kept with nothing in flight
};

inline constexpr size_t kDemandBytes = 1 + 20;
inline constexpr size_t kCreditBytes = 1 + 12;

void write_demand(const DemandFrame& frame, Writer& writer);
void write_credit(const CreditFrame& frame, Writer& writer);

// Each reads what follows the type byte; false: malformed.
bool read_demand(Reader& reader, DemandFrame& frame);
bool read_credit(Reader& reader, CreditFrame& frame);

}  // namespace heddle::transport
