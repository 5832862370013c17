// Constants of judgement of reading, moving, importing and exporting recordings and captures, by
// the part that uses them: unit, source, range.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::recordings::params {

// --- captures (capture.h, capture/) ---
namespace capture {

// Packets between two looks for an interrupt. Chosen: below a millisecond. Range: 64 to
// 65,536.
inline constexpr uint64_t kInterruptedEvery = 1024;
// Apart parts of a message that arrived. Chosen: losses leave few gaps at a time. Range: 8 to
// 1,024.
inline constexpr size_t kMostIntervals = 64;
// Bytes above which no link carries a packet whole: an offload has merged several. Chosen: the
// jumbo frames of switches. Range: 9,000 to 10,240.
inline constexpr uint64_t kLargestPacket = 9'216;
// Lengths of a connection's packets that are remembered. Chosen: full packets and the last ones of
// messages. Range: 8 to 1,024.
inline constexpr size_t kMostLengths = 64;
// VLAN tags, and extension headers of IPv6, that are read over. Chosen: networks use two; more end
// a crafted packet. Range: 2 to 16 each.
inline constexpr int kMostTags = 8;
inline constexpr int kMostExtensions = 8;
// Connections, paths and RoCE flows that are followed, and messages in parts of all. Chosen: bounds
// memory; what exceeds them is counted. Range: 1,024 to 2^20 each.
inline constexpr size_t kMostConnections = 16'384;
inline constexpr size_t kMostPaths = 65'536;
inline constexpr size_t kMostFlows = 16'384;
inline constexpr size_t kMostOpen = 16'384;
// Completed messages that are remembered, whose retransmissions may follow. Chosen, as the above.
// Range: 1,024 to 2^20.
inline constexpr size_t kMostRemembered = 16'384;
// Pieces of RoCE messages of a flow, and gaps in the numbers of a path or queue pair. Chosen: a
// burst of losses leaves fewer. Range: 8 to 1,024 each.
inline constexpr size_t kMostPieces = 32;
inline constexpr size_t kMostGaps = 32;
// A jump of RoCE's packet numbers that no gap explains: the queue pair was made anew. Chosen: 256
// MiB of packets of 4 KiB. Range: 2^12 to 2^22.
inline constexpr uint64_t kRestartJump = uint64_t{1} << 16;

}  // namespace capture

// Sizes of messages that are counted exactly; further ones by powers of two. Chosen: jobs have far
// fewer (size_counts.h). Range: 64 to 65,536.
inline constexpr size_t kMostExactSizes = 1024;

// --- export and copies (export/clickhouse.cc, folders/data_copy.cc) ---

// Bytes of rows that are sent to a database together: ClickHouse wants few large inserts. Range:
// 256 KiB to 64 MiB.
inline constexpr size_t kSentAtOnce = 4 << 20;
// Bytes of a file that are copied between two looks for an interrupt. Chosen: below a millisecond
// in memory. Range: 64 KiB to 16 MiB.
inline constexpr size_t kCopiedAtOnce = 1 << 20;

// --- recordings of another machine (folder_stream.cc) ---
namespace stream {

// Bytes of a file's name and of a frame's data that a receiver takes. Chosen: the longest name of
// Linux's file systems, and above the frames that are sent. Range: 64 to 255; 64 KiB to 16 MiB.
inline constexpr size_t kMostNameBytes = 255;
inline constexpr size_t kMostDataBytes = size_t{1} << 20;
// Bytes of the pages by which the disk space of sparse files is counted: as events' blocks. Range:
// 4 to 1,024 KiB.
inline constexpr uint64_t kPageBytes = uint64_t{64} << 10;
// Bytes that may come before the greeting, which a login prints. Chosen. Range: 4 KiB to 1 MiB.
inline constexpr size_t kMostBeforeGreeting = size_t{64} << 10;

}  // namespace stream

// --- HTTP by curl (http_post.cc) ---
namespace post {

// Bytes of curl's and the server's words in an error. Chosen: some lines. Range: 80 to 4,096.
inline constexpr size_t kMostReportedBytes = 400;
// Bytes of an address, and of user and password: with other settings they fit into a pipe of Linux
// (64 KiB), which is written before curl reads. Range: 1 to 16 KiB.
inline constexpr size_t kMostAddressBytes = 8 << 10;

}  // namespace post

// --- traces of others (import/) ---
namespace foreign {

// Values in values of JSON. Chosen: dumps that are sound need fewer than ten. Range: 10 to 256.
inline constexpr int kMostJsonDepth = 32;
// Devices of a process of NCCL Inspector. Chosen: no host has more GPUs. Range: 16 to 1,024.
inline constexpr int kMostDevices = 64;
// Values of a pickle, and bytes of its texts, each time that one is named: a few bytes can name
// many. Chosen: bounds memory. Range: 2^20 to 2^26; 32
// MiB to 1 GiB.
inline constexpr size_t kMostValues = 4u << 20;
inline constexpr size_t kMostTextBytes = 128u << 20;
// Open calls of a rank and kind in snapshots of NCCL RAS that are written. Chosen: the first
// decides where a job stands. Range: 1 to 64.
inline constexpr uint64_t kMostOpenCalls = 4;

}  // namespace foreign

// --- recordings that grow (live_recording.cc) ---
namespace live {

// Between two estimates of clocks: messages improve what is known of them, and each estimate looks
// at all samples; the second as long as wall clocks are all that is known. Chosen. Range: 1 to 60
// s; 0.2 to 5 s.
inline constexpr Nanos kAlignEvery = seconds(5);
inline constexpr Nanos kAlignFirst = seconds(1);
// A file that has no header for this long will have none. Chosen: a process writes it at once.
// Range: 1 to 60 s.
inline constexpr std::chrono::seconds kHeaderWithin(5);
// Events later than now by more than this are of a clock that is wrong: the job's time would run
// ahead with it, and all other processes would seem to be silent. Chosen. Range: 10 s to 10 min.
inline constexpr Nanos kMostAhead = seconds(60);

}  // namespace live

// --- timelines of pipelines (pipeline_timeline.cc) ---
namespace pipeline {

// Numbers of ranks, steps and operations. Chosen: jobs have fewer. Range: 2^20 to 2^31.
inline constexpr uint32_t kMostNumber = 100'000'000;
// Lengths and times, us. Chosen: no step takes eleven days, and no clock began three million years
// ago. Range: 1e9 to 1e15; 1e16 to 1e24.
inline constexpr double kLongestMicros = 1e12;
inline constexpr double kLatestMicros = 1e20;

}  // namespace pipeline

}  // namespace heddle::recordings::params
