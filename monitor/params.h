// Constants of judgement of watching a job: unit, source, reasonable range.
#pragma once

#include <cstddef>

#include "base/nanos.h"

namespace heddle::monitor::params {

// --- verdicts ---

// Slowness is judged over the operations that ended in this time, so that it is reported while it
// is new: 8 of 100 blocks are 5 s. Range 30 to 300 s.
inline constexpr Nanos kRecent = seconds(60);
// And over less, so that what is sure is reported sooner: 8 of 100 blocks are 1.2 s, and an episode
// is at least 2 s (a link) or 5 s (a rank). Range 10 to 30 s.
inline constexpr Nanos kNewest = seconds(15);
// And this often over all that are kept: rare operations, what grows bit by bit, and steps of all
// ranks that became slower. Range 5 to 60 s.
inline constexpr Nanos kWholeEvery = seconds(10);
// Looks in a row that must find a fault before it is an alarm, and without it before it is over.
// Range 2 to 5; 3 to 30.
inline constexpr int kLooksToRaise = 2;
inline constexpr int kLooksToClear = 5;
// Of slowness: flows that collide on a path of the fabric make a link late for some seconds. In a
// healthy lab (`bench/run monitor`) two looks in a row found that once a minute. Range 4 to 20.
inline constexpr int kLooksToRaiseSlow = 6;
// A look that is this sure counts as half of these: twice the standard errors that a verdict needs
// give 0.92. Range 0.9 to 0.97.
inline constexpr double kSure = 0.92;
// A look over all that is kept counts as this many: its blocks are longer. Range 2 to 6.
inline constexpr int kWeightOfWhole = 3;
// Parts of ranks in operations that are kept, about 200 bytes each. Range 50,000 to 1,000,000.
inline constexpr size_t kMostParts = 200'000;
// And as many of each rank where these are more: some 20 s of a job that makes ten calls a second,
// as slowness is judged after 20 operations. Range 100 to 1,000.
inline constexpr size_t kPartsARank = 200;
// Alarms that are over and still shown. Range 10 to 10,000.
inline constexpr size_t kMostPast = 100;

// --- series ---

// Spans are counted in four buckets an octave: one up to 2 to the power of the first, in ns (1 us),
// and these in all, up to 1,000 s. Range 6 to 14; 60 to 200.
inline constexpr int kFirstOctave = 10;
inline constexpr size_t kSpanBuckets = 122;
// Calls of a rank that have begun and whose end is awaited. Range 64 to 4,096.
inline constexpr size_t kMostOpenCalls = 256;
// Ranks of which /metrics has figures: each is some eight series of Prometheus. Range 100 to 4,096.
inline constexpr size_t kMostRanksInMetrics = 1'024;
// Pairs of GPU and Xid of which an agent's metrics have a counter. Range 32 to 1,024.
inline constexpr size_t kMostXidsInMetrics = 256;
// Interfaces of hardware in an agent's metrics; it samples no more. Range 16 to 1,024.
inline constexpr size_t kMostNicsInMetrics = 64;

// --- traffic of the last interval ---

// An interval, and how late an event of it may be read. Range 1 to 10 s; 0.5 to 5 s.
inline constexpr Nanos kTrafficEvery = seconds(2);
inline constexpr Nanos kLateTraffic = seconds(1);
// An event this long after an interval's beginning has a wrong time. Range 10 s to 10 min.
inline constexpr Nanos kMostAhead = seconds(60);
// Processes whose messages and bins are counted: each message costs some 50 ns, each bin some 200.
// Range 64 to 1,024.
inline constexpr size_t kMostTrafficProcesses = 256;
// Rows of a matrix that a page shows; of more ranks it shows their hosts. Range 16 to 128.
inline constexpr size_t kMostMatrixRows = 64;
// NICs and bursts that a page lists, and parts of an interval, each with its peak. Range 16 to 256;
// 5 to 100; 20 to 200.
inline constexpr size_t kMostShownNics = 64;
inline constexpr size_t kMostShownBursts = 20;
inline constexpr size_t kPartsOfInterval = 60;
// Bounds of memory: columns of all NICs (16 bytes each), connections of a process, members of
// communicators, openings of NICs. Range: a factor of 10 either way.
inline constexpr size_t kMostTrafficColumns = 200'000;
inline constexpr size_t kMostConnections = 4'096;
inline constexpr size_t kMostMembers = 100'000;
inline constexpr size_t kMostOpenedNics = 10'000;

// --- what is published ---

// Ranks in a message: some 300 bytes each, and a server takes 1 MiB by default. Range 100 to 2,000.
inline constexpr size_t kRanksInMessage = 500;
// Faults, and hosts that are not heard, in a state; it says how many more there are. Range 10 to
// 500.
inline constexpr size_t kMostPublishedAlarms = 50;
inline constexpr size_t kMostPublishedHosts = 50;
// Sentences of a list, and evidence of a fault. Range 5 to 100.
inline constexpr size_t kMostPublishedNotes = 20;

// --- rows in a database ---

// Rows are sent this often, or when a batch reaches this size: ClickHouse wants few large inserts.
// Range 1 to 60 s; 256 KiB to 16 MiB.
inline constexpr Nanos kStoreEvery = seconds(5);
inline constexpr size_t kBatchBytes = size_t{4} << 20;
// That wait for the server: of 10,000 ranks, a minute. Range 4 MiB to 1 GiB.
inline constexpr size_t kMostStoredBytes = size_t{32} << 20;
// For an answer. Range 5 to 120 s.
inline constexpr Nanos kLongestRequest = seconds(20);
// Times that the server refuses a batch before it is dropped. Range 2 to 10.
inline constexpr int kMostRefusals = 3;

// --- the overview of a site ---

// Jobs, of which each takes some 100 KiB at most, mostly some KiB. Range 100 to 100,000.
inline constexpr size_t kMostJobs = 10'000;
// A message that is longer is not read: servers take 1 MiB by default. Range 256 KiB to 8 MiB.
inline constexpr size_t kLongestPublished = size_t{1} << 20;
// Values in values of a message. Chosen: sound states need fewer. Range 6 to 64.
inline constexpr int kDeepestPublished = 8;
// Characters of a sentence or a name that are kept.
inline constexpr size_t kLongestText = 1'000;
// A job of which no state has come for this many of its intervals, and at least this long, is
// stale: its monitor has died, or cannot reach the server. Range 2 to 5; 2 to 30 s.
inline constexpr int64_t kStaleIntervals = 3;
inline constexpr Nanos kLeastStale = seconds(4);
// After a connection of the overview monitors may take this long to be back: the longest time until
// messaging/ tries a server again, and a quarter. Range 6 to 60 s.
inline constexpr Nanos kMonitorsReturn = seconds(7);
// Its intervals are at most this long; a longer one is refused on the command line, and not
// believed.
inline constexpr Nanos kLongestInterval = seconds(60);
// Until a job that is over is forgotten, and one that is stale. Range 10 s to 1 h; 1 min to 1 d.
inline constexpr Nanos kForgetOver = seconds(60);
inline constexpr Nanos kForgetStale = seconds(600);

// --- hosts ---

// How often the side of the job's machine sends what is new. Chosen: below the interval of a look.
// Range 50 to 1,000 ms.
inline constexpr Nanos kSendEvery = millis(250);
// A machine that has sent nothing for this long is not heard: of its ranks nothing is known. Range
// 2 to 30 s.
inline constexpr Nanos kUnheard = seconds(5);
// A stream without a sign of life for this long is ended, and the machine asked again; a login
// takes less. Range 10 to 120 s.
inline constexpr Nanos kSilentStream = seconds(30);
// Until a lost machine is asked again, doubled each time up to the longest. Range 0.5 to 5 s; 10 to
// 120 s.
inline constexpr Nanos kFirstRetry = seconds(1);
inline constexpr Nanos kLongestRetry = seconds(30);
// Time that one machine's bytes may take before the next one's turn. Range 10 to 200
// ms.
inline constexpr Nanos kTurn = millis(50);

// --- GPUs ---

// nvidia-smi takes some 0.1 s, without the driver's persistence mode seconds; on a GPU that has
// failed it may never end. Range 5 to 60 s.
inline constexpr Nanos kLongestGpuReading = seconds(10);
// Of one machine, of which each is some 16 series of Prometheus. Range 16 to 1,024.
inline constexpr size_t kMostGpus = 256;

// --- hooks ---

// A run that takes longer is ended. Range 5 to 300 s.
inline constexpr Nanos kLongestHook = seconds(30);
// Runs, or changes for a webhook, that wait for the one before. Range 10 to 10,000.
inline constexpr size_t kMostWaiting = 100;
// Times that a change is sent to a webhook, 1, 2, 4 and 8 s after each other: a server that starts
// again takes some seconds. Range 3 to 8.
inline constexpr int kWebhookTries = 5;

// --- the job's end ---

// A job whose processes have all been silent for this long is over: a live one records keep-alives.
// Range 10 to 600 s.
inline constexpr Nanos kOver = seconds(60);
// And where some of them have ended in good order: the others were killed. Range 5 to 60 s.
inline constexpr Nanos kOverAfterSome = seconds(10);
// And where all have: the next stage of a job may begin meanwhile. Range 1 to 60 s.
inline constexpr Nanos kOverAfterAll = seconds(3);

}  // namespace heddle::monitor::params
