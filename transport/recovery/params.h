// Constants of judgement of acknowledgements, by the class that uses them: unit, source, range. The
// form is that of transport/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::transport::params {

// --- when packets are acknowledged (ack_rules.h) ---
namespace ack_rules {

// How long an acknowledgement may wait for others to share its packet. Part of what a sender's
// probe timeout allows for. Chosen: below the 50 to 100 us by which a host's timers are late.
// Range: 10 to 100 us.
inline constexpr Nanos kDelay = micros(25);
// The same of packets without payload, for which no sender waits. Chosen: far below the 25 ms of
// max_ack_delay (RFC 9000 section 18.2). Range: 250 us to 5 ms.
inline constexpr Nanos kControlDelay = millis(1);
// Upper limit of the delays that follow the round trip. Chosen: as the longest burst of the pacer.
// Range: 100 us to 5 ms.
inline constexpr Nanos kLongestDelayWithin = micros(500);
// After a gap acknowledgements wait no longer than kDelay for this time: where packets are lost,
// acknowledgements are too, and needless retransmissions cost more than they do. Chosen. Range:
// 500 us to 10 ms.
inline constexpr Nanos kPromptAfterGap = millis(2);
// With this many bytes of this many arrivals unacknowledged, one is due. A burst that arrives at
// once is one arrival, or each would be acknowledged alone. Chosen: half a burst, and twice the two
// packets of RFC 9000 section 13.2.2. Range: 8 to 64 KiB; 2 to 8.
inline constexpr uint64_t kBytes = 32 * 1024;
inline constexpr uint32_t kArrivals = 4;
// Bytes from which on the end of a message is acknowledged at once. Smaller ones are acknowledged
// together. Chosen. Range: 2 to 64 KiB.
inline constexpr uint32_t kLargeMessage = 8 * 1024;
// This many deferred packets make an acknowledgement due: each may hold one of the few messages
// that a sender may have ahead of their grants. Chosen: a quarter of those 16. Range: 2 to 8.
inline constexpr uint32_t kMostDeferred = 4;

}  // namespace ack_rules

// --- what acknowledgements say (acknowledgements.h, received_numbers.h) ---
namespace acknowledgements {

// Gaps are forgotten when no packet arrived for this time: an idle connection keeps no memory of
// them. Chosen: longer than any packet is delayed. Range: 100 ms to 5 s.
inline constexpr Nanos kGapsKeptFor = millis(500);
// Paths without anything new that an acknowledgement repeats, so that the loss of one hides nothing
// for long. Chosen. Range: 1 to 8.
inline constexpr size_t kRepeatedPaths = 3;
// A path is not acknowledged again this long after its latest arrival, in units of 2^20 ns: 67 ms.
// Where many acknowledgements leave, several have reported it; where few do, a sender that is still
// unsure has sent a probe by then. Chosen. Range: 16 to 127.
inline constexpr uint8_t kRepeatedFor = 64;
// Memory is reserved for this many more paths at a time. Chosen: with the first, those of eight
// paths. Range: 1 to 31.
inline constexpr size_t kPathsMore = 7;
// The most packet numbers that a sender can be ahead of the newest that arrived: about 190 windows
// of 125 MB in datagrams of 1,472 bytes, or the probes of a dead path for half a year. Chosen.
// Range: 2^17 (one such window) to 2^40.
inline constexpr uint64_t kMostAhead = uint64_t{1} << 24;

}  // namespace acknowledgements

// --- records of sent packets (sent_bursts.h) ---

// Frames that the peer must get and that one packet carries: a record is kept of each until it is
// acknowledged. Chosen: further ones leave in the next packet. Range: 2 to 32.
inline constexpr size_t kMaxControl = 5;

// --- intervals of bytes (interval_set.h) ---
namespace intervals {

// Capacity of a set at first, and from there on, until it doubles: enough for a message of eight
// segments, then for a window of a few bursts. With doubling from one, the set would still allocate
// now and then in the steady state. Chosen. Range: 2 to 16; 16 to 256.
inline constexpr size_t kFew = 4;
inline constexpr size_t kSome = 64;

}  // namespace intervals

}  // namespace heddle::transport::params
