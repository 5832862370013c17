// Constants of judgement of UD: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::datapath::ud_params {

// Requests that a sending queue pair holds. Chosen: two bursts of 64 segments. Range: 64 to 1,024.
inline constexpr uint32_t kSendDepth = 128;
// Datagrams of all sending queue pairs that the NIC has not read yet, each with a slot of memory.
// Chosen: 2 MiB of 4,096 bytes, 0.17 ms at 100 Gb/s. Range: 128 to 4,096.
inline constexpr uint32_t kSendSlots = 512;
// Slots of the receiving queue pair. Where memory cannot be locked, half as many are tried, down to
// the least. Range: 128 to 16,384.
inline constexpr uint32_t kMostReceiveSlots = 8192;
inline constexpr uint32_t kLeastReceiveSlots = 256;
// Bytes of receive capacity advertised per slot: it holds one datagram of any size, so small ones
// are counted as this size. As xdp_params::kCapacityPerFrame. Range: 64 to 1,472.
inline constexpr uint32_t kCapacityPerSlot = 512;
// Slots are posted again in rows of this number. Chosen: one doorbell for several datagrams.
// Range: 1 to 64.
inline constexpr uint32_t kReceiveRow = 32;
// Greetings by queue pair that wait for their answers; further ones are dropped, and asked again.
// Range: 8 to 256.
inline constexpr size_t kMostGreetings = 64;
// A batch ends at this number of bytes: more would leave the cache before it is copied. As
// udp_params::kBatchBytes. Range: 64 to 512 KiB.
inline constexpr size_t kBatchBytes = 192 * 1024;
// A queue pair that failed is replaced after this time at the earliest. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kNewPairEvery = millis(10);

// Address handles, one for each peer's host, path and ECN mark; emptied when full. Chosen: 128
// peers with 64 paths. Range: 1,024 to 65,536.
inline constexpr size_t kMostHandles = 16'384;
// Peers of which it is known whether they take datagrams of queue pairs. As fec_params::kMostPeers.
inline constexpr size_t kMostPeers = 1024;

// An ask without an answer is repeated after this time, twice as long each time; the first ones
// cover a peer that just starts. Chosen. Range: 5 to 100 ms.
inline constexpr Nanos kAskAgain = millis(20);
// But at least this often while something is sent: a peer without UD costs a datagram each time.
// Chosen. Range: 1 to 60 s.
inline constexpr Nanos kAskSlowly = seconds(5);
// A peer that takes datagrams is asked again this often, by one of them. Chosen: a device that
// stops costs the peer this time and that of kUnanswered asks. Range: 0.1 to 5 s.
inline constexpr Nanos kProveEvery = millis(500);
// Without an answer to that, again after this time, twice as long each time, kUnanswered times in
// all: 0.7 s. Then datagrams go by UDP, and it is asked anew after kBackAfter, twice as long each
// time that it does not help. Chosen: above the delay of soft-RoCE on an emulated processor; three
// lost by chance at 1% are one in a million. Range: 10 ms to 1 s; 2 to 6; 0.1 to 10 s.
inline constexpr Nanos kProveAgain = millis(100);
inline constexpr uint32_t kUnanswered = 3;
inline constexpr Nanos kBackAfter = millis(200);

// Receives without input between two looks at the UDP datapath, and looks in each turn after it
// had input. As xdp_params.
inline constexpr uint32_t kTurnsPerLook = 32;
inline constexpr uint32_t kLooksAfterInput = 64;
// A wait after a refused transmit ends at the latest after this time. As xdp_params::kRetry.
inline constexpr Nanos kRetry = micros(100);

// Errors of the network that wait for the transport; when full, the oldest is dropped. Chosen:
// those of a burst's segments. Range: 16 to 1,024.
inline constexpr size_t kErrorsKept = 64;
// MTU of an interface, in bytes, with which a port's packets carry 2,048 bytes; the headers of RDMA
// take up to 100. Range: 2,148 to 4,200.
inline constexpr uint32_t kEnoughMtu = 2200;

}  // namespace heddle::datapath::ud_params
