// Constants of judgement about NCCL's networks: unit, source, range. What NCCL's headers fix is in
// net_v*.h, tuner_types.h and profiler_types.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::nccl::params {

// --- NICs (nics.h, nics/) ---

// Speed where the system reports none, in Mb/s: what NCCL's own Socket transport assumes. Range:
// 1,000 to 100,000.
inline constexpr int kUnknownSpeedMbits = 10'000;
// Above it a driver reports a code, not a speed, in Mb/s. Chosen: 10 Tb/s, ten times what is built.
// Range: 1,600,000 to 100,000,000.
inline constexpr int kMaxSpeedMbits = 10'000'000;
// Interfaces below an interface (VLAN over VLAN over team over ...); ends loops in odd data.
// Chosen. Range: 4 to 32.
inline constexpr int kMaxStackDepth = 8;
// Descriptors: heddle's sockets for each NIC (docs/how-to/several_nics.md), and those of NCCL and
// the program. The second is chosen. Range: 65 to 257; 256 to 4,096.
inline constexpr int kDescriptorsOfNic = 65;
inline constexpr int kDescriptorsOfProgram = 512;

// --- advice (environment.cc, doctor/) ---

// From this speed on, in Mb/s, packets of 1,500 bytes cost more CPU than links, and NCCL gets this
// many threads at most: one thread drives some 20 Gb/s in each direction, and more than four gained
// little in all-reduces (docs/performance.md: `bench/run gpu --part cable`). Range: 10,000 to
// 100,000; 1 to 16.
inline constexpr int kFastNicMbits = 25'000;
inline constexpr int kMostThreads = 4;
// MTU that is advised on fast NICs, bytes. Chosen: the usual jumbo frames. Range:
// 4,200 to 9,216.
inline constexpr uint32_t kJumboMtuBytes = 9'000;

// --- measured networks (measured_network.h) ---

// Bounds of what a network can be, bit/s and ns; a figure outside is a mistake. Chosen: 100 kbit/s
// to 100 Tbit/s, and a cable of 20 m to a satellite. Range: 10^4 to 10^6; 10^13 to 10^15; 10 to
// 1,000; 10^9 to 10^10.
inline constexpr BitsPerSec kLeastGoodput = {100'000};
inline constexpr BitsPerSec kMostGoodput = {100'000'000'000'000};
inline constexpr Nanos kLeastOneWay = {100};
inline constexpr Nanos kMostOneWay = {1'000'000'000};

// --- driving a plugin (drive/) ---
namespace drive {

// How often the main thread looks whether it is stopped. Chosen: a user does not notice it. Range:
// 1 to 100 ms.
inline constexpr Nanos kMainPause = millis(20);
// Between looks for the failure of another rank, of which the plugin may not know. Chosen: a file
// server answers in between. Range: 20 ms to 2 s.
inline constexpr Nanos kFailurePause = millis(200);
// Between registrations beside traffic: a millisecond shows races and costs little. Range: 100 us
// to 100 ms.
inline constexpr Nanos kRegisterPause = millis(1);
// Rounds of a timed drive: each as long as one in this of what is left, so that the end is met.
// Chosen. Range: 2 to 10.
inline constexpr int64_t kRoundPart = 2;
inline constexpr uint64_t kMostIterationsARound = 1'000'000;  // chosen; 10^4 to 10^8
// Channels and ranks of a drive. NCCL's MAXCHANNELS was 32 for many versions (recalled); the second
// is chosen. Range: 1 to 64; 2 to 65,536.
inline constexpr int kMostChannels = 32;
inline constexpr int kMostRanks = 1'024;
// Between polls in which nothing moved; NCCL's service thread polls its sockets meanwhile. Chosen.
// Range: 10 us to 1 ms.
inline constexpr Nanos kServicePause = micros(200);
// Between looks at the folder for the end of another rank, and for what it writes. Chosen. Range: 5
// to 200 ms; 100 us to 20 ms.
inline constexpr Nanos kEndPause = millis(20);
inline constexpr Nanos kFolderPause = millis(1);
// Bytes of the memory that is registered beside traffic. Chosen: 16 pages. Range: 4 KiB to 1 MiB.
inline constexpr uint64_t kScratchBytes = 65'536;
// Ranks that are named before a sentence says how many more there are. Chosen. Range: 2 to 32.
inline constexpr size_t kMostNamed = 8;

}  // namespace drive

}  // namespace heddle::nccl::params
