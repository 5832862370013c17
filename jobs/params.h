// Constants of judgement of running and replaying jobs, by the part that uses them: unit, source,
// range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::jobs::params {

// --- replay (replay/) ---

// How often signals are looked at. Chosen: a user does not notice it. Range: 10 ms to 1 s.
inline constexpr Nanos kSignalLook = millis(100);
// A rank does not sleep for less, but spins: a host's timers fire 50 to 100 us late. Range: 100 us
// to 1 ms.
inline constexpr Nanos kShortSleep = micros(200);
// A flow's connection opens within this. Chosen: longer than the handshake timeout of senders.
// Range: 10 to 60 s.
inline constexpr Nanos kOpenPatience = seconds(20);
// Ranks without progress are stuck after this time. Peers that are gone are known to be dead long
// before; who computes longer than this is waited for. Chosen. Range: 10 to 120 s.
inline constexpr Nanos kReplayStuckAfter = seconds(30);
// Results that faults of the fabric delay are sent once the faults end, which is waited for this
// long. Chosen. Range: 10 s to 10 min.
inline constexpr Nanos kResultsPatience = seconds(60);
// Starts of ranks that have met just before: further apart they are on two clocks. Chosen: above
// the last message of the meeting. Range: 100 ms to 5 s.
inline constexpr Nanos kSameClock = seconds(1);

// --- simulated jobs (simulated_jobs.h) ---

// Simulated time between two looks at whether ranks are ready, and whether any gets on. Chosen.
// Range: 10 us to 1 ms.
inline constexpr Nanos kProgressLook = micros(50);
// Simulated time without progress after which calls do not fit each other; peers that are gone are
// known to be dead before. What ranks ask each other meanwhile is far less. Chosen. Range: 10 to
// 120 s.
inline constexpr Nanos kSimulatedStuckAfter = seconds(20);
// Progress is more than this many bytes of each rank in that time. Chosen: above what ranks ask
// each other, far below a call's data. Range: 4 KiB to 1 MiB.
inline constexpr uint64_t kLeastProgressBytes = 64 << 10;
// Chunks in memory that all ranks share for what they reduce. Chosen: twice kStepWindow of
// collectives. Range: 32 to 256.
inline constexpr uint64_t kStagedChunks = 64;
// Memory is mirrored from a file of this many bytes, mapped again and again. Chosen: two huge pages
// of x86. Range: 2 to 64 MiB.
inline constexpr uint64_t kMirroredPiece = uint64_t{4} << 20;
// Bytes of an entry of the queue in which NCCL's receiver announces buffers
// (simulated/roce_carrier.h). Source: its slots have a cache line. Range: 32 to 128.
inline constexpr uint64_t kAnnouncementBytes = 64;

}  // namespace heddle::jobs::params
