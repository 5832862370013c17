// Constants of judgement of NCCL's net, profiler and tuner plugins: unit, source, range. Those of
// the trace are in trace/params.h, those of advice and of measured networks in nccl/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::nccl::params {

// --- transfers (net/, exports/) ---
namespace net {

// Comms of a device, as NCCL asks for them. Chosen: more than NCCL opens. Range: 2^12 to 2^20.
inline constexpr int kMostComms = 1 << 16;
// Channels of a link, the control channel among them; a further comm opens a further link. And
// those that are kept for each comm; more are used as long as there are any. Chosen: NCCL uses few
// tags. Range: 64 to 4,096; 1 to 64.
inline constexpr uint32_t kLinkChannels = 512;
inline constexpr uint32_t kChannelsAComm = 8;
// Control records of a link in flight, and receives posted for them. Chosen: a record is
// acknowledged within a round trip. Range: 8 to 1,024; 2 to 256.
inline constexpr size_t kRecordSends = 64;
inline constexpr size_t kRecordReceives = 16;
// Operations of one link and direction: 32 requests of 8 parts for each of its comms, and records.
// Range: 2^12 to 2^18.
inline constexpr uint32_t kMostPosts = 16'384;
// Connections: two for each process that a device's endpoint exchanges data with. Chosen: of
// 16,384. Range: 2^10 to 2^17.
inline constexpr uint32_t kMostConnections = 32'768;
// How long the end of the last communicator waits for its peers' answers to closes. Chosen: above
// some round trips, below what a user waits for. Range: 0.2 to 10 s.
inline constexpr Nanos kFarewell = seconds(1);
// After this time a connection without a comm is closed, and a connect that NCCL does not poll is
// dropped. Chosen: NCCL polls without pause. Range: 2 to 60 s.
inline constexpr Nanos kIdlePatience = seconds(10);
// How long and how often a connect tries again while the peer's endpoint is full: connections of
// strangers leave it after kIdlePatience. Chosen. Range: 1 to 30 s longer; 50 ms to 5 s.
inline constexpr Nanos kFullPatience = kIdlePatience + seconds(5);
inline constexpr Nanos kFullPause = millis(500);
// How long a comm that ends waits for canceled transfers. A living peer answers within a round
// trip; one that is dead or stopped must not hold up the abort of a job, unless other communicators
// would pay for it. Chosen. Range: 0.2 to 5 s; 2 to 60 s.
inline constexpr Nanos kAbandonPatience = seconds(1);
inline constexpr Nanos kSharedPatience = seconds(10);
// And for sends that may be left as they are; an abort closes many comms one after the other.
// Chosen. Range: 5 to 500 ms.
inline constexpr Nanos kLeavePatience = millis(50);
// When the peer has closed a comm, what it received is acknowledged within a round trip, and within
// some more if acknowledgements are lost. Chosen. Range: 0.1 to 10 s.
inline constexpr Nanos kCloseGrace = seconds(1);

}  // namespace net

// --- the profiler (profiler/) ---
namespace profiler {

// Calls that are looked at when the pool is empty, for one that ended without NCCL saying so.
// Chosen: some microseconds. Range: 8 to 1,024.
inline constexpr uint32_t kRetireTries = 64;
// Threads that may write events at once. Chosen: above the threads of NCCL that move data. Range: 4
// to 64.
inline constexpr uint64_t kWriters = 16;
// Communicators of a process at a time. Chosen: above those of a job with all kinds of parallelism.
// Range: 64 to 16,384.
inline constexpr size_t kMostContexts = 1024;

}  // namespace profiler

// --- the tuner (tuner/model.h) ---
namespace tuner {

// A GPU copies no more than this through one channel, Gb/s, whatever the network does. Below the
// least of NCCL's own bounds for a channel (20 GB/s, LL128 on Volta), since buffers may be in host
// memory. Range: 20 to 160.
inline constexpr double kChannelGbits = 40.0;
// NCCL's MAXCHANNELS was 32 for many versions (recalled). Range: 2 to 64.
inline constexpr int kMostChannels = 32;
// NCCL multiplies costs that it wants to be taken last by 1024 (sums of 8-bit floats on long
// rings). A cost this many times the least one is such a cost. Range: 64 to 1,024.
inline constexpr double kRelegated = 512.0;
// Operations that NCCL merges share the latency of a tree in groups of about this many. Chosen.
// Range: 1 to 64.
inline constexpr uint64_t kOperationsTogether = 8;
// A latency of NCCL's own table that is longer, us, is not one. Chosen: far above any step's.
// Range: 100 to 10,000.
inline constexpr double kMostLatencyUs = 1'000.0;
// Costs of a table. Chosen: three times NCCL's seven algorithms of three protocols. Range: 21 to
// 256.
inline constexpr size_t kMostCosts = 64;
// Bytes of a chunk in a pipeline of nodes, at least. Chosen: below, packets are not full. Range: 8
// KiB to 512 KiB.
inline constexpr uint64_t kLeastChunk = 65'536;

}  // namespace tuner

}  // namespace heddle::nccl::params
