// Constants of judgement of the engine: unit, source, reasonable range. Widths of counters and
// limits of file formats stay with their code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine::params {

// --- the driver loop (driver.cc) ---

// Longest timer delay while the network refuses bursts. Datapath::wait() ends as soon as the
// network can send, so this matters only if it never can. Chosen. Range: 100 us to 10 ms.
inline constexpr Nanos kRefusedRetry = millis(1);
// Predicted places that one turn may fill. Each receive() that fills a place returns one message;
// without a prediction one receive() returns several. Chosen. Range: 1 to 16.
inline constexpr int kPlacesPerTurn = 4;
// Below this many bytes a copy is no slower than a clock read, 21 to 27 ns. Chosen. Range: 256 to
// 4,096.
inline constexpr uint64_t kQuickCopyBytes = 1024;

// --- who drives (endpoint_drive.cc) ---

// Turns in a row that the helper runs for an endpoint before it serves the next one. Chosen. Range:
// 4 to 64.
inline constexpr int kHelperTurns = 16;
// A spinning thread yields its core after kYieldAfter. An earlier yield would delay the detection
// of early input: a system call costs as much as several polls of the network. A yield that took
// kYieldTaken or longer means that another thread ran, so the core is in demand, perhaps by the
// peer; the thread then yields at once. Chosen. Range: 5 to 100 us; 1 to 10 us.
inline constexpr Nanos kYieldAfter = micros(20);
inline constexpr Nanos kYieldTaken = micros(3);
// Least time between two turns of an endpoint whose poll source is checked more often. Chosen.
// Range: 5 to 100 us.
inline constexpr Nanos kTurnInterval = micros(20);

// Longest time between two polls of the helper where the network has no descriptor to wait on
// (takeover.h). Chosen: well above the 50 to 100 us by which a host's timers are late. Range: 100
// us to 10 ms.
inline constexpr Nanos kBlindPoll = millis(1);

// --- shares of stranger_bytes (configured.h), in sixteenths ---

// Memory that a test server keeps for its clients, or a store for its clients, is separate from its
// endpoint's. Chosen: what a program takes is at most 16 in all: 8 + 4, or 6 + 10. Range: 1 to 15.
inline constexpr uint64_t kEndpointParts = 8;        // a program's endpoint
inline constexpr uint64_t kStoreParts = 4;           // a rendezvous endpoint, beside the program's
inline constexpr uint64_t kServerEndpointParts = 6;  // the endpoint of `perf` or `ping --listen`
inline constexpr uint64_t kServerTestParts = 10;     // all tests of that server's clients

// --- wire bins (wire_bins.h) ---

// Counters of a span; when they are used up they are emitted before it is over. Chosen: few of a
// host's paths carry payload in one span. Range: 64 to 254, the indexes of a byte.
inline constexpr size_t kMostBinsUsed = 128;
// Up to this number, lookup is a linear search: the keys occupy few cache lines (two), and a burst
// has just displaced other data from the caches. Chosen. Range: 8 to 32.
inline constexpr size_t kFewBins = 16;

// --- tables (operation_table.h, shared_regions.h) ---

// Operations of an engine whose outcome was not taken yet, and regions of an endpoint. Chosen:
// bounds the tables; programs have far fewer. Range: 2^16 to 2^24 each, what an operation's id
// holds.
inline constexpr uint32_t kMaxOperations = 1U << 20;
inline constexpr uint32_t kMostRegions = 1U << 20;
// Operations, and regions, whose slots are allocated together. Chosen: some tens of KB, and one
// allocation for most programs. Range: 64 to 4,096 each, a divisor of the above.
inline constexpr uint32_t kOperationsSlab = 1024;
inline constexpr uint32_t kRegionsSlab = 256;

// --- files and what limits them ---

// Keys of a file, and its bytes (key_file.h). Chosen: an old and a new key of each of eight jobs;
// comments have place. Range: 2 to 64; 4 KiB to 1 MiB.
inline constexpr size_t kMostKeys = 16;
inline constexpr size_t kMostKeyFileBytes = 64 * 1024;
// Bytes of a plan's file (plan_reader.cc). Chosen: far above a plan of 100,000 flows with some
// paths each. Range: 16 MiB to 1 GiB.
inline constexpr size_t kMostPlanBytes = size_t{256} << 20;
// A read of a plan that is not done when its endpoint ends is waited for this time, and looked at
// every kPollMicros. Chosen: a file server that works answers within it. Range: 10 ms to 5 s; 100
// to 10,000 us.
inline constexpr Nanos kMostPlanWait = millis(500);
inline constexpr uint32_t kPlanPollMicros = 1'000;
// Of the payload, in millionths (route_plan.cc): more than this on routes that no path takes, and
// other links would carry what the plan keeps off them. Chosen. Range: 0 to 300,000.
inline constexpr uint32_t kMostMissing = 100'000;
// Levels of a plan's document (route_plan.cc): it has a few, and what copies or writes a document
// takes stack with each. Chosen. Range: 8 to 256.
inline constexpr int kMostPlanDepth = 16;
// Paths of a flow, several NICs at each end included. Chosen: 256 of each pair of four NICs. Range:
// 256 to 65,536.
inline constexpr size_t kMostPlanPaths = 4096;
// Reads of a file watch's events in one look, since the caller may drive payload: more are left for
// the next one (file_watch.cc). Chosen. Range: 1 to 64.
inline constexpr int kMostWatchReads = 8;
// Bytes of the program's command line that are recorded (process_recording.cc). Chosen: that of a
// training job with its options. Range: 256 to 65,536.
inline constexpr size_t kMostCommandBytes = 4096;

// --- recordings (endpoint_observed.cc) ---

// Interval between reports of the time stamp counter's error. Chosen. Range: 100 ms to 10 s.
inline constexpr Nanos kStampReportInterval = seconds(1);

// --- following a plan (plan_follower.cc) ---
namespace plan_follower {

// Switches may hash anew, and links fail: routes are discovered again after this time. Source: that
// of automatic discovery, path_discovery::kInterval of the transport. Range: 5 to 600 s.
inline constexpr Nanos kLookInterval = seconds(60);
// A look at routes that are being discovered copies all that was found. Chosen: a discovery takes
// tens of milliseconds at least. Range: 1 to 100 ms.
inline constexpr Nanos kFoundInterval = millis(10);
// Between two looks at what the watch of the file's folder has noticed, each of about a
// microsecond; at most by this a replaced plan is read later. Chosen. Range: 1 to 100 ms.
inline constexpr Nanos kWatchInterval = millis(10);
// After a path failed, switches hash anew once they agree on routes: routes are discovered at once,
// and again after this time and its multiples. Chosen: routing protocols settle within a few
// seconds. Range: 200 ms to 5 s; 2 to 10.
inline constexpr Nanos kFirstInterval = seconds(1);
inline constexpr int64_t kIntervalGrows = 4;
// A new plan may replace the file then, perhaps on a file server, where no watch notices it: it is
// looked at this often. Chosen. Range: 100 ms to 5 s.
inline constexpr Nanos kFailedLook = millis(500);

}  // namespace plan_follower

// --- failures that a plan may answer (failure_looks.cc) ---
namespace failure_looks {

// Time in which failures count as one. Chosen: routing protocols settle, and `heddle plan` answers,
// within it. Range: 2 to 60 s.
inline constexpr Nanos kSettles = seconds(5);
// Where paths fail again within kRecent of that, it grows by the first, to at most the second.
// Chosen: a link that flaps starts one discovery a minute. Range: 2 to 10; 30 to 600 s.
inline constexpr int64_t kGrows = 4;
inline constexpr Nanos kRecent = seconds(60);

}  // namespace failure_looks

}  // namespace heddle::engine::params
