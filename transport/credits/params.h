// Constants of judgement of receiver credits, by the class that uses them: unit, source, range. The
// form is that of transport/params.h.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"

namespace heddle::transport::params::credits {

// --- how much may be outstanding (credit_source.h) ---

// What may be outstanding at least, in bytes with headers, however slow and short the network is:
// hosts answer tens of microseconds to milliseconds late, and a queue of 75 KB holds it. Chosen.
// Range: 25,000 to 75,000.
inline constexpr uint64_t kLeastCap = 50'000;
// Added to one and a half times what link and round trip hold, in bytes, so that a few full frames
// of a nearby sender are in the queue. Chosen: five frames of 1,500 bytes. Range: 1,500 to 64,000.
inline constexpr uint64_t kSlack = 8'000;
// A turn of one sender is the cap divided by the first, and at most the second in bytes. Shorter
// turns cost a credit frame each, in longer ones the other senders wait. Chosen; the second is a
// burst. Range: 4 to 16; a datagram to 64,000.
inline constexpr uint64_t kQuantumPart = 8;
inline constexpr uint64_t kLargestQuantum = 64'000;
// Credit in bytes that each silent sender keeps at least: a message of one small segment never
// waits for credit. Chosen. Range: 128 to 1,500.
inline constexpr uint32_t kLeastAllowance = 512;
// Lower bound of the ceiling after losses, in bytes. Chosen: eight frames of 1,500 bytes, with
// which a round trip without a queue still fills 10 Gb/s over 10 us. Range: two datagrams to
// kLeastCap.
inline constexpr uint64_t kLeastCeiling = kLeastCap / 4;
// Where round trips are underestimated, the cap grows up to this, in eighths: four times. Chosen:
// senders of one job differ by less, and it bounds the queue if the link is slow for another
// reason. Range: 16 to 64.
inline constexpr uint32_t kMostStretched = 32;
// A round has this many round trips, this many caps of bytes, and this time at least: long enough
// that all of what is outstanding, arriving at once after a pause of this host, does not look like
// a much faster network. Chosen. Range: 2 to 8; 2 to 8; 10 to 100 us.
inline constexpr int64_t kRoundTrips = 3;
inline constexpr uint64_t kRoundCaps = 4;
inline constexpr Nanos kShortestRound = micros(20);
// Doublings of the time after which unused credit is advertised again. Chosen: from kCatchUp, the
// shortest such time, to 0.1 s; kLongestPatience bounds longer ones. Range: 4 to 16.
inline constexpr uint8_t kMostBackoff = 10;
// Bytes of a sender's full datagrams before any was seen: every network passes them. Range: that of
// kBaseDatagram.
inline constexpr uint32_t kSmallestSegment = kBaseDatagram;
// Demand beyond the credit, in bytes, that is believed of one sender. Chosen: no host has as much
// to send, and sums of it do not overflow. Range: 2^34 to 2^48.
inline constexpr uint64_t kMostWanted = uint64_t{1} << 40;

// --- round trips (credit_round_trips.h) ---

// Time in which credit is used, before one was measured, and at most; then its frame may be lost.
// Chosen: above what a busy host adds; the second is that of path probes (kLongestProbeInterval).
// Range: 1 to 100 ms; 100 ms to 1 s.
inline constexpr Nanos kFirstPatience = millis(20);
inline constexpr Nanos kLongestPatience = millis(250);
// A measured round trip is forgotten after this time, since routes change. Chosen: round_trip's
// window, that of BBR. Range: 1 to 30 s.
inline constexpr Nanos kMeasuredFor = seconds(10);

// --- demand (credit_balance.h, extensions/credits.h) ---

// A sender looks at its backlog again when this many bytes are left of the demand that it
// advertised. Chosen: two bursts, so that new demand arrives before the credit is used up. Range:
// 64 KiB to 1 MiB.
inline constexpr uint64_t kAhead = 128 * 1024;
// Bytes by which demand grows before it is advertised again. Chosen: a credit frame for each half
// burst. Range: 8 to 64 KiB.
inline constexpr uint64_t kStep = 32 * 1024;
// A demand that got no credit is advertised again after this time: the frame may be lost. Chosen:
// as the PTO before anything is measured. Range: 10 ms to 1 s.
inline constexpr Nanos kDemandInterval = millis(100);

// --- pace (credit_pacer.h, arrival_rate.h) ---

// How far a receiver may catch up after a late timer: as a sender, pacer::kCatchUp. Timers of an
// ordinary host fire 50 to 100 us late. Range: 50 us to 1 ms.
inline constexpr Nanos kCatchUp = micros(100);
// The second highest rate of a round within the last one to two of these is the link's. A shorter
// time could contain only rounds in which other traffic used part of it. Chosen. Range: 1 to 30 s.
inline constexpr Nanos kRateHalf = seconds(5);

}  // namespace heddle::transport::params::credits
