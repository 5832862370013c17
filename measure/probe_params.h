// Constants of judgement of probes: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::measure::params {

// Packets of a train: more than pass a shaper's burst of 62,500 bytes (1 Gb/s for 500 us) in its
// first half, and less than most queues hold. Range: 90 to 256.
inline constexpr uint32_t kTrainPackets = 96;
// A train's payload, bytes: its packets fit the least MTU, 1,400. Range: 500 to 1,372.
inline constexpr size_t kTrainPayload = 1'372;
// The hop limit of probes that are to arrive. Chosen: the default of Linux and of RFC 1700; routes
// are shorter. Range: 32 to 255.
inline constexpr uint8_t kHopLimit = 64;
// Hop limits of a trace: a fat tree of three tiers has five routers on a route. Range: 5 to 30.
inline constexpr uint8_t kMostProbeHops = 8;
// Consecutive hops without an answer that end a trace. Chosen. Range: 2 to 5.
inline constexpr uint32_t kSilentHops = 3;
// Probes of a hop that nothing answers. Chosen: an answer is missed in one of a million traces if
// 1% of packets are lost. Range: 2 to 5.
inline constexpr uint32_t kTraceAttempts = 3;
// How long an answer may take: round trips in a data center take below 1 ms, and control planes
// delay answers. Chosen. Range: 20 ms to 1 s.
inline constexpr Nanos kAnswerTime = millis(100);
// How long a train may take to its last packet: 96 packets at 20 Mb/s. Range: 20 to 500 ms.
inline constexpr Nanos kTrainTime = millis(60);
// A train that took longer to send, and not because of its first link, left with gaps and is
// repeated. Measured: 0.7 ms on two busy cores. Range: 1 to 10 ms.
inline constexpr Nanos kTrainSending = millis(3);
inline constexpr uint32_t kTrainAttempts = 3;
// Probes that do not expire at routers are sent at this multiple of the rate of those that do: no
// control plane handles them. Chosen. Range: 1 to 100.
inline constexpr uint32_t kDeliveryRates = 8;
// Datagrams of a socket that are read before others, and a signal, are looked at. Chosen. Range: 32
// to 4,096.
inline constexpr int kDatagramsOfTurn = 512;
// Arrivals of a train that are kept, and trains of a flow: more come only of forged ones.
inline constexpr size_t kTrainArrivals = 256;
inline constexpr size_t kTrainsOfFlow = 64;

}  // namespace heddle::measure::params
