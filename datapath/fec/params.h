// Constants of judgement of forward error correction: unit, reason, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::datapath::fec_params {

// A group that is not full ends when nothing was added for kIdle, or kAge after it began. The
// transport retransmits what was overtaken for more than RTT/2 (transport/params.h, kStaleSlack):
// over 1,000 km later parity is useless. Chosen. Range: 200 us to 5 ms; 1 to 10 ms.
inline constexpr Nanos kIdle = millis(1);
inline constexpr Nanos kAge = millis(4);

// Groups that are open at a time, one a connection; packets of further ones have no parity until a
// group has ended. Memory of a group: its parity, allocated when it is first used. Range: 16 to
// 256.
inline constexpr size_t kMostGroups = 64;
// Bursts on different paths that a group may have: each costs kRunBytes of a datagram. Range: 4 to
// 16.
inline constexpr size_t kMostRuns = 8;

// Peers of which it is known whether they read parity, of 56 bytes; beyond it the one that was sent
// to least recently is forgotten, but none that was sent to within kInUse: a further peer has no
// part. Range: 64 to 16,384; 100 ms to 10 s.
inline constexpr size_t kMostPeers = 1024;
inline constexpr Nanos kInUse = seconds(1);
// A peer is sent an announcement this often, while something is sent to it: at first until it has
// announced itself (at most kFirstAnnouncements times), then later. Range: 20 ms to 1 s; 1 to 10 s.
inline constexpr Nanos kAnnounceAtFirst = millis(50);
inline constexpr Nanos kAnnounceLater = seconds(1);
inline constexpr uint32_t kFirstAnnouncements = 10;
// A peer reads parity for this time after its announcement. Range: 10 s to 10 min.
inline constexpr Nanos kAnnouncedFor = seconds(60);

// Received datagrams that are kept for the parity behind them, of all peers together: 3 ms of
// 10 Gb/s, in datagrams of 1,024 bytes and more. Range: 1 to 64 MiB; 1,024 to 65,536.
inline constexpr size_t kRememberedBytes = size_t{4} << 20;
inline constexpr size_t kMostRemembered = 4096;
// Groups that wait for more parity or for datagrams on slower paths. Range: 4 to 64.
inline constexpr size_t kMostPending = 16;
inline constexpr Nanos kPendingFor = millis(100);
// Rebuilt datagrams that the transport has not taken yet; further ones are dropped.
inline constexpr size_t kMostRebuilt = 64;

// Errors of the network that wait for the transport; when full, the oldest is dropped. Chosen:
// those of a burst's segments. Range: 16 to 1,024.
inline constexpr size_t kErrorsKept = 64;
// Least receive capacity that is announced, in bytes: half is for parity, and the datapath below
// has some. Chosen: a burst. Range: 16 to 256 KiB.
inline constexpr uint64_t kLeastCapacity = 64 << 10;

}  // namespace heddle::datapath::fec_params
