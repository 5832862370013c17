// Constants of judgement of the simulated network: unit, source, range. Those of the RoCE NIC model
// are in roce/params.h; shapes of links and switches are a topology's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::simulator::params {

// --- switches (balancer.h, outlets.h) ---

// Entries of a switch's flowlet table; packets whose hashes meet in one share a flowlet, as in real
// switches. Chosen; LetFlow's switches have 64 Ki. Range: 1 Ki to 64 Ki.
inline constexpr uint32_t kFlowletEntries = 8'192;
// Headers of trimmed packets that wait at an outlet; further ones are dropped. Chosen: of 64 bytes
// each they are 32 KiB, a small part of a switch's memory.
// Range: 64 to 4,096.
inline constexpr size_t kMostHeaders = 512;
// Headers that leave between two packets, as in NDP's switches (Handley et al., SIGCOMM 2017).
// Range: 1 to 32.
inline constexpr uint32_t kHeadersInARow = 10;

// --- hosts (sim_datapath.h, datapath/receive_queue.h, roce_host.h, flow_run.h) ---

// Bytes that a host merges into one run: as Linux's GRO, whose packets stay below 64 KiB. Range:
// 9,000 to 65,535.
inline constexpr uint32_t kRunBytesMax = 65'000;
// Bytes of a batch of received runs. Chosen: a socket's batch over UDP has about as many. Range:
// 64 KiB to 16 MiB.
inline constexpr size_t kBatchBytes = 1u << 20;
// Errors of the network that wait for the transport; further ones are dropped, as from a socket's
// error queue. Chosen: as the datapaths. Range: 16 to 1,024.
inline constexpr size_t kErrorsKept = 64;
// Bursts in flight of all connections of a host. Chosen: 16 GB in bursts of 64 KB, so that no
// simulated flow waits for memory. Range: 2^14 to 2^22.
inline constexpr uint64_t kMostSentRuns = 1u << 18;
// Bytes of the longest message over RoCE: contents are not looked at, and share one region. Chosen:
// above any collective. Range: 2^30 to 2^48.
inline constexpr uint64_t kMostRoceBytes = uint64_t{1} << 40;

// --- events and packets in memory (event_queue.h, packet.h) ---

// Slots of the timing wheel, one a nanosecond: near events need no comparison. Chosen: 16 us are
// above the time of a packet on most links, and 128 KiB stay in the cache. Range: 2^12 to 2^20, a
// multiple of 4,096.
inline constexpr size_t kWheelSlots = size_t{1} << 14;
// Children of a node of the heap of later events. Chosen: four of 24 bytes are beside each other in
// the cache. Range: 2 to 8.
inline constexpr size_t kHeapArity = 4;
// Bytes of header and real payload within a packet; more are in a block of their own. Chosen: a
// line of the cache. Range: 32 to 256.
inline constexpr uint32_t kInlineBytes = 64;

// --- limits of the simulation (routes.h, series.h, checks/memory_check.h) ---

// Bytes of the tables of all shortest routes. Chosen: what a workstation has beside the rest.
// Range: 1 to 64 GiB.
inline constexpr uint64_t kMostRouteBytes = uint64_t{4} << 30;
// Links that keep their load over time when memory is full; after that the bins double in length.
// Chosen: what a page can show. Range: 16 to 1,024.
inline constexpr size_t kLeastSeriesLinks = 64;
// Violations of the rules of memory that are kept for the report. Chosen: the first ones show what
// is wrong. Range: 1 to 1,000.
inline constexpr size_t kViolationsKept = 100;

}  // namespace heddle::simulator::params
