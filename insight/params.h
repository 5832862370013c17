// Constants of judgement of what recordings show, by the part that uses them: unit, source, range.
// Those of the diagnosis are in diagnosis/params.h, those of stragglers in stragglers/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::insight::params {

// --- findings of a summary (findings.cc) ---
namespace findings {

// A rank is a straggler if it waited less than one in kStraggles of the median waiting time, and if
// that median is more than one in kMatters of the total time. Chosen: what chance makes of waiting
// is far less than a factor of four, and below 5% of a job there is little to gain. Range: 2 to 10;
// 10 to 50.
inline constexpr int64_t kStraggles = 4;
inline constexpr int64_t kMatters = 20;
// Loss is reported above one lost segment in this many messages. Chosen: a retransmission delays
// one message in a hundred. Range: 20 to 1,000.
inline constexpr uint64_t kMuchLost = 100;
// A host that sends this many times the mean of the hosts is reported. Chosen: collectives without
// a root load all hosts alike. Range: 1.2 to 3.
inline constexpr double kUneven = 1.5;

}  // namespace findings

// Slowest calls that a summary lists (summary.h). Chosen: what a page shows. Range: 3 to 20.
inline constexpr size_t kSlowestCalls = 5;

// --- load and microbursts (load.h) ---
namespace load {

// Events of the wire may arrive this much later than the time that they describe, ns. Chosen: a
// second is the longest interval at which counters are recorded. Range: 0.1 to 10 s.
inline constexpr int64_t kLate = 1'000'000'000;
// Longer bins do not show microbursts, ns. Chosen: queues of a switch last below 1 ms. Range: 0.1
// to 2 ms.
inline constexpr int64_t kLongestBin = 1'000'000;
// A span of the wire that is shorter comes from a damaged recording, ns. Chosen: a hundredth of the
// shortest bin that is recorded. Range: 100 ns to 10 us.
inline constexpr int64_t kShortestSpan = 1000;
// A burst's peak is at least one in this of the link's capacity. Chosen: below it no queue grows.
// Range: 2 to 10.
inline constexpr uint64_t kPart = 4;
// And at least this many times the mean of the kAroundBins bins before and after. Chosen: a steady
// load varies by less; at bins of 100 us, 10 ms around. Range: 2 to 10; 10 to 500.
inline constexpr double kTimesMean = 4;
inline constexpr int64_t kAroundBins = 50;
// Bursts that are kept, the largest ones. Chosen: what a timeline can show. Range: 100 to 10,000.
inline constexpr size_t kMostBursts = 500;
// Calls and phases of a process that are kept. Chosen: bounds memory. Range: 1,000 to 1,000,000.
inline constexpr size_t kMostSpans = 20'000;
// Calls of a host that are remembered to name the activity of a burst. Chosen: bounds memory.
// Range: 1,000 to 1,000,000.
inline constexpr size_t kMostCalls = 1 << 16;
// Bins beyond the first of all spans together: limits the work for a damaged recording. Chosen: a
// second of it. Range: 100,000 to 100,000,000.
inline constexpr int64_t kMostSpread = 5'000'000;

}  // namespace load

// --- clocks (clocks.h) ---
namespace clocks {

// Largest drift of a clock: the limit to which an operating system slews it (adjtimex(2): 500 ppm).
// Range: 100 to 500 ppm.
inline constexpr double kMostDrift = 500e-6;
// Events carry the cached time of their event loop, which may be older by this much, ns. Chosen: a
// turn of the loop. Range: 1 to 100 us.
inline constexpr int64_t kStampNs = 10'000;
// Samples of messages in memory, over all connections. Chosen: 64 MiB. Range: 2^16 to 2^26.
inline constexpr size_t kMostSamples = 4 << 20;
// Of each connection, at least and at most. Chosen: bounds of a line need some points over time,
// and thousands add nothing. Range: 8 to 128; 256 to 65,536.
inline constexpr size_t kLeastSamplesEach = 32;
inline constexpr size_t kMostSamplesEach = 4096;
// Steps of the searches for a line's slope (clocks/line_bounds.h): halvings use up a double's 53
// bits, and steps by a third leave 3e-11 of the drift. Chosen. Range: 53 to 100.
inline constexpr int kSteps = 60;
// Bounds are peeled of their extreme points where there are this many: some first, and more while
// they contradict each other. Chosen: a wrong stamp or two must not decide. Range: 20 to 1,000; 0
// to 5; 1 to 10.
inline constexpr size_t kLeastToPeel = 100;
inline constexpr int kAlwaysPeeled = 2;
inline constexpr int kMostPeeled = 4;

}  // namespace clocks

// --- traffic (traffic.h) ---
namespace traffic {

// The first messages of a connection without a communicator that wait for it. The event that links
// it may follow them, since messages are recorded with the time at which they arrived. Chosen.
// Range: 4 to 256.
inline constexpr size_t kMostEarly = 16;
// Purposes of NCCL's calls that are remembered; a proxy's last operation may be recorded after the
// call's end. Chosen: bounds memory. Range: 256 to 65,536.
inline constexpr size_t kMostPurposes = 4096;
// Stretches of calls in flight (traffic/under_way.h). A span usually covers a few stretches; of a
// burst of tiny calls, the last ones are kept. Chosen. Range: 16 to 4,096.
inline constexpr size_t kMostStretches = 256;

}  // namespace traffic

// What a run is expected to send (expected.h): ranks of a run, as collectives::params::kMostRanks,
// and chunks of one segment that travel around a ring together, as its kRingChunks. Range: theirs.
inline constexpr uint32_t kMostExpectedRanks = 65'536;
inline constexpr uint64_t kChunksTogether = 4;

// A wait that begins this soon after its call makes the call a blocking one (replay/replay_writer).
// Chosen: above the time of two calls in a row, below a kernel's. Range: 0.5 to 20 us.
inline constexpr Nanos kWaitsAtOnce = micros(2);

}  // namespace heddle::insight::params
