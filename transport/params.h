// Constants of judgement of the transport, by the part that uses them. Each names its unit, where
// the value comes from (an RFC, a paper, a measurement, or "chosen"), and the range in which the
// tests hold. Limits that follow from a wire format or an integer's width stay with their code.
#pragma once

#include <array>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport::params {

// --- datagram sizes (path/pmtu_prober.h) ---

// BASE_PLPMTU: the UDP payload, in bytes, that every network is assumed to pass. RFC 8899 section
// 5.1.2 and RFC 9000 section 14.1: IPv6's 1,280 bytes less IP and UDP headers. Range: 1,200 to
// 1,232.
inline constexpr uint32_t kBaseDatagram = 1200;
// Sizes to search, in bytes of UDP payload: Ethernet MTUs of 9,000 and 4,096 less IPv6 headers;
// 1,500 less IPv4 headers, IPv6 headers, and tunnel headers. Source: common MTUs. Range: any
// descending list that ends with kBaseDatagram.
inline constexpr std::array<uint32_t, 6> kProbedSizes = {8952, 4048, 1472,
                                                         1452, 1400, kBaseDatagram};
// MAX_PROBES: lost probes of one size before the next smaller size is tried. RFC 8899
// section 5.1.2. Range: 1 to 3.
inline constexpr uint8_t kSizeProbes = 3;
// Round trips in which a path lost all its large datagrams while small packets arrived, before the
// search starts again (black hole detection, RFC 8899 section 4.3). Chosen. Range: 1 to 3.
inline constexpr uint8_t kBlackHoleRounds = 3;
// Size probes in flight over all paths of a connection. Chosen: a probe of 9,000 bytes may be
// dropped, so they stay a small part of the window. Range: 1 to 16.
inline constexpr uint32_t kSizeProbesInFlight = 4;
// Their bytes stay below this part of the peer's receive capacity. Chosen. Range: 2 to 16.
inline constexpr uint64_t kSizeProbesCapacityPart = 4;

// --- liveness of paths (path/path_liveness.h) ---

// Unanswered tail probes of an active path before it becomes suspect. RFC 9002 section 7.6 takes
// three PTOs for persistent congestion. Range: 1 to 5.
inline constexpr uint8_t kTailProbes = 2;
// The PTO of an active path backs off up to this time. Chosen: below the 5 s after which a peer is
// dead. Range: 100 ms to 2 s.
inline constexpr Nanos kLongestPto = seconds(1);
// A suspect path is probed at least this often. Chosen: payload returns to a repaired path within
// this time. Range: 50 ms to 1 s.
inline constexpr Nanos kLongestProbeInterval = millis(250);
// Least time by which other paths must have outrun a path before it counts as silent. Chosen: what
// a host's scheduler delays. Range: 1 to 10 ms.
inline constexpr Nanos kLeastSilence = millis(3);
// Least time between two searches for silent paths. Chosen: bounds the cost with 256 paths. Range:
// 100 us to 1 ms.
inline constexpr Nanos kSilenceCheckEvery = micros(500);
// Added to the tail-loss delay: what a busy host adds to a round trip now and then. Measured by
// `bench/run p2p` on a loaded host. Range: 50 us to 1 ms.
inline constexpr Nanos kTailLossSlack = micros(150);

// --- records of lost packets (recovery/loss_detection.h) ---

// An idle path checks this often whether records of lost packets may be dropped. Chosen. Range:
// 10 to 250 ms.
inline constexpr Nanos kForgetEvery = millis(50);
// Records of lost packets are kept for this many smoothed round trips of their path, to recognize
// spurious retransmissions, and at least for kForgetAfterLeast. Chosen. Range: 4 to 16; 10 to 250
// ms.
inline constexpr int64_t kForgetAfterTrips = 8;
inline constexpr Nanos kForgetAfterLeast = millis(50);
// Lost bursts remembered on a path. Chosen: bounds memory. Range: 64 to 1,024.
inline constexpr uint32_t kLostBurstsRemembered = 256;
// A packet is lost, whatever the reorder window says, if one that left this much later was
// acknowledged: half a smoothed round trip and this time. Chosen. Range: 50 us to 1 ms.
inline constexpr Nanos kStaleSlack = micros(100);
// Upper limit of the reorder window's time, where the smoothed round trip is shorter. Chosen.
// Range: 500 us to 10 ms.
inline constexpr Nanos kReorderLimitLeast = millis(1);

// --- choice of a path (path/path_scheduler.h) ---

// A window over several paths leaves in this many bursts, so that no path's queue grows by more
// than this part of it. Measured with four links of 200 Mb/s: two_choices uses them to 88, 93 and
// 96% with 16, 32 and 64 bursts, reps to 99% with 32. Range: 16 to 64.
inline constexpr uint64_t kBurstsAWindow = 32;
// Small messages share a path for at most this time. Chosen. Range: 100 us to 1 ms.
inline constexpr Nanos kLongestBurst = micros(500);
// A burst holds at least what the pacing rate sends in this time. Chosen: a queue of 15 us is below
// what hosts add. Range: 5 to 50 us.
inline constexpr Nanos kShortBurst = micros(15);
// Selections per burst, at most, until one falls on a path with recent samples. Chosen. Range: 1
// to 8.
inline constexpr int kSelectionTries = 3;
// Stale paths are probed once per half burst of payload; at low load (less than half a burst in
// flight) once per this many half bursts, since there a probe delays the next message. Chosen.
// Range: 16 to 256.
inline constexpr uint64_t kSparedStaleProbes = 64;
// At low load stale paths are probed at least this often all the same. Chosen. Range: 10 ms to 1 s.
inline constexpr Nanos kStaleProbeEvery = millis(100);
// A path may hold this many times its even share of the window, so that a slow path cannot hold all
// of it. Chosen. Range: 2 to 4.
inline constexpr uint64_t kPathShares = 2;
// The age of path samples is counted in phases of this many smoothed round trips, of at least
// kShortestPhase. Chosen. Range: 2 to 8; 10 to 100 us.
inline constexpr int64_t kPhaseTrips = 4;
inline constexpr Nanos kShortestPhase = micros(20);
// Phases without a sample after which a path is stale. Chosen. Range: 2 to 8.
inline constexpr uint8_t kStaleAge = 4;
// Phases that pass at once after a pause, at most. Chosen: enough for all samples to be stale.
// Range: kStaleAge to 128.
inline constexpr int64_t kMostPhases = 16;
// Acknowledged packet numbers of a path after which one recent loss is forgotten. Chosen. Range: 16
// to 256.
inline constexpr uint64_t kLossForgottenAfter = 64;

// --- what may leave (send/send_window.h) ---

// A burst needs at least this part of the window, or a full burst: smaller ones cost a system call
// each. Chosen. Range: 4 to 16.
inline constexpr uint64_t kLeastWindowPart = 8;
// Acknowledgements are requested at least this often per window. Chosen; ack policies of TCP stacks
// ask for two to eight. Range: 2 to 8.
inline constexpr uint64_t kAcksRequestedAWindow = 4;
// What a datagram costs a receiver's socket buffer beyond its bytes. Measured with SO_RCVBUF on
// Linux: about the size of its sk_buff. Range: 256 to 1,024 bytes.
inline constexpr uint32_t kReceiveOverhead = 512;

// --- what the congestion controller hears (congestion/feedback.h) ---

// This part of the window may be trimmed per round trip without a reduction: shared queues overflow
// now and then although the fabric has room. Chosen. Range: 4 to 16.
inline constexpr uint64_t kTrimmedPart = 8;

}  // namespace heddle::transport::params
