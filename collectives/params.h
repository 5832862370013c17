// Parameters of judgement of collectives: each with its unit, where it comes from, and the range in
// which it makes sense. "Chosen" means that no measurement distinguishes neighboring values.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/nanos.h"

namespace heddle::collectives::params {

// --- choosing algorithms: the network of which nothing was measured ---

// Latency of a small message, ns. Two hosts on 10 Gbit/s, interrupt to interrupt: `heddle ping`.
// 1,000 to 1,000,000.
inline constexpr uint32_t kLatencyNs = 20'000;
// Of one that waits for a grant, ns: one more one-way latency. 1 to 3 latencies.
inline constexpr uint32_t kLargeLatencyNs = 30'000;
// Of each further message that leaves together with another, ns. Chosen: a quarter of a latency.
// 0 to a latency.
inline constexpr uint32_t kFollowingNs = 5'000;
// A byte on the network, ps: 2.5 GB/s, one core's worth of UDP. 10 to 1,000,000.
inline constexpr uint32_t kSendPsPerByte = 400;
// A byte reduced, ps: 6.7 GB/s, floats summed from memory (`collectives_bench`). 20 to 1,000.
inline constexpr uint32_t kReducePsPerByte = 150;
// A message of at most this size, in bytes, travels ahead of its grant. 1 KiB to 64 KiB.
inline constexpr uint64_t kSmallMessageBytes = 32 << 10;
// A piece in which data is forwarded and reduced, bytes: the setting `chunk_bytes`. 1 KiB to 16
// MiB.
inline constexpr uint32_t kChunkBytes = 256 << 10;

// --- measuring the network ---

// Column of CostTable::kSizes and the calls of each all-reduce there. The first of more than two
// warms up; algorithms overtake each other between 16 and 256 KiB (`bench/run allreduce
// --algorithms`). Rounds 1 to 10.
inline constexpr std::array<std::pair<size_t, uint32_t>, 4> kShortRounds = {
    {{0, 6}, {3, 5}, {4, 4}, {5, 3}}};
// A communicator that measures ends it after about this (on a slow network: kSlowTime), and its
// busiest rank sends no more. Chosen: what a user does not notice at the start of a run. 10 ms to 1
// s; 1 to 64 MiB.
inline constexpr Nanos kShortTime = millis(250);
inline constexpr uint64_t kShortBytes = 21 << 20;
// Up to this number of ranks an all-to-all is measured too, which connects all of them. 2 to 64;
// chosen.
inline constexpr uint32_t kMostExchanging = 16;
// Trials of groups for two-level all-reduces: sizes of groups, column of CostTable::kSizes (64 KiB,
// where bytes count) and calls of each. Chosen: 1 to 16; 3 to 5; 2 to 4.
inline constexpr size_t kMostGroupings = 8;
// Calls of each row in the first group, which opens connections and lets ranks begin to spin;
// another of its size follows, whose times count. 1 to 4; chosen.
inline constexpr uint32_t kWarmUpRounds = 2;
inline constexpr size_t kTrialColumn = 4;
inline constexpr uint32_t kTrialRounds = 2;
// From this time of the smallest all-reduce on a network is slow: a link over land or sea. There a
// measurement may take longer, since it decides over minutes. 1 to 20 ms; 1 to 30 s; chosen.
inline constexpr Nanos kSlowCall = millis(5);
inline constexpr Nanos kSlowTime = seconds(10);
// Two levels are taken to move bytes faster than a ring if they take at most this part of its time;
// above it the difference is chance. 0.5 to 0.95; chosen.
inline constexpr double kTwoLevelPart = 0.85;
// `heddle tune`: calls of a row at a size are as many as move this, bytes, within these bounds. 1
// to 256 MiB; 3 to 5; 10 to 100; chosen.
inline constexpr uint64_t kFullBytes = 16 << 20;
inline constexpr uint64_t kFullRoundsMin = 3;
inline constexpr uint64_t kFullRoundsMax = 20;
// The least part of a ring's largest call that bytes take where the measurement counts; below it
// ranks waited for cores and not for the network. 0.01 to 0.3; chosen.
inline constexpr double kSoundPart = 0.05;
// A call is disturbed if it took more than this multiple of the shortest of its row; a measurement
// with more than this fraction of disturbed calls is discarded. 1.5 to 5; 0.1 to 0.5; chosen.
inline constexpr double kDisturbedTimes = 2;
inline constexpr double kDisturbedPart = 0.25;
// What no network is beyond, ns and ps: less or more is a wrong measurement. Chosen: a cable of 20
// m takes 100 ns and a satellite 0.6 s; 10 ps are 800 Gbit/s, 1 us is 8 Mbit/s. 1 to 1,000; 0.1 to
// 10 s; 1 to 20; 10^5 to 10^8.
inline constexpr uint64_t kLatencyNsMin = 100;
inline constexpr uint64_t kLatencyNsMax = 1'000'000'000;
inline constexpr double kSendPsPerByteMin = 10;
inline constexpr double kSendPsPerByteMax = 1e6;

// --- calls of a communicator ---

// Collectives that run side by side, each on channels of its own. 1 to 64; chosen: a backward pass
// has a few buckets in flight.
inline constexpr uint32_t kLanes = 8;
// A call that waits for this time asks the ranks it waits for. Above any round trip, and short
// enough for a user: 0.1 to 10 s; chosen.
inline constexpr Nanos kStalledAfter = seconds(1);
// A failure is sent to all ranks within this; a rank that does not get it notices the closed
// connection. 10 ms to 1 s: the limit of 1 s on a killed process (tests/e2e/death_test.py).
inline constexpr Nanos kFailureNoticeTime = millis(200);
// After a failure, calls with ranks that live are withdrawn; a connection on which that takes
// longer is closed. Above some round trips, and with kFailureNoticeTime below the limit of 1 s: 10
// to 700 ms; chosen.
inline constexpr Nanos kWithdrawTime = millis(500);
// Ranks that are left wait this long until their connections can be used again; others are made
// anew. As above.
inline constexpr Nanos kKeepWithin = millis(200);
// A rank that lives and has not called shrink() within this is left out. Above a training step, in
// which a program notices the error of its call: 1 to 60 s; chosen.
inline constexpr Nanos kJoinWithin = seconds(5);
// And this much later shrink() ends without an agreement: above the time in which a silent host is
// found dead, twice. 5 to 60 s; chosen.
inline constexpr Nanos kAgreeWithin = seconds(10);
// When a job grows, ranks and newcomers have written where they are within this, or no newcomer is
// taken in. Above the interval at which a newcomer looks, and the time until a rank makes its call:
// 1 to 60 s; chosen.
inline constexpr Nanos kFindNewcomersWithin = seconds(5);
// A newcomer that waits changes a key of its own this often. A tenth of kNewcomerGoneAfter; 10 to
// 500 ms; chosen.
inline constexpr Nanos kNewcomerBeats = millis(100);
// A newcomer whose key does not change within this, or a fifth of kFindNewcomersWithin, is gone and
// gets no seat. Several beats, since a store may be slow: 200 ms to 5 s; chosen.
inline constexpr Nanos kNewcomerGoneAfter = seconds(1);
// A leader that has not said within this that it takes part in shrink() is passed over, although
// its process lives. Above a round trip, far below kJoinWithin: 100 ms to 3 s; chosen.
inline constexpr Nanos kLeaderAnswersWithin = seconds(1);
// Pause of a leader whose ballot was refused. Some round trips: 1 to 100 ms; chosen.
inline constexpr Nanos kBallotRetry = millis(20);
// While a failure is sent or a communicator closes, state is looked at this often. 1 to 100 ms;
// chosen.
inline constexpr Nanos kFailurePollTime = millis(10);
// A communicator that is destroyed waits for its close this long at most. 0.1 to 10 s; chosen.
inline constexpr Nanos kGoodbyeTime = seconds(3);
// Calls of other ranks that this rank has not made yet and remembers, so that it can compare them.
// 64 to 65,536: some 40 bytes each; chosen.
inline constexpr size_t kPendingRemoteCalls = 1024;
// Own calls that are remembered, to compare them with what others wait for. At least kLanes;
// chosen.
inline constexpr size_t kPastCalls = 64;
// Control messages in flight to one rank that may be sent in any number; a rank that receives none
// is sent no more of them. 512 bytes each. 64 to 4096; chosen.
inline constexpr size_t kUnacknowledgedControl = 256;
// Reports of other ranks that wait until this one looks at them. 64 to 65,536; chosen.
inline constexpr size_t kUnseenReports = 4096;
// Communicators that have ended and whose late connections are refused. 64 to 65,536; chosen.
inline constexpr size_t kEndedCommunicators = 1024;
// Bytes of an object of another library in which a thread sleeps (pending_call.h): a future is
// smaller. 256 to 4,096, a multiple of 8; chosen.
inline constexpr size_t kMostAwaitedBytes = 1024;
// Operations by which two sides of a kept connection can be apart; a peer that claims more is
// refused. Above kStepWindow and kUnacknowledgedControl: 512 to 65,536; chosen.
inline constexpr int32_t kMostFillers = 4096;
// Rounds of an agreement on members that are believed of a message: the pauses between them take
// longer than a job. 2^10 to 2^30; chosen.
inline constexpr uint32_t kMostAgreementRounds = 1U << 20;
// Stragglers that are remembered, and ranks that asked about this one. 64 to 65,536; chosen.
inline constexpr size_t kStragglers = 1024;
// Number of calls before the oldest running one for which stragglers are kept. At least kLanes;
// chosen.
inline constexpr uint64_t kStragglerCallsBack = 64;
// The largest call, bytes: sums of offsets stay far below 2^64. 2^40 to 2^56; chosen.
inline constexpr uint64_t kMostCallBytes = uint64_t{1} << 48;

// --- execution ---

// Steps of a call that run at once: two ring segments of several chunks. 8 to 256;
// chosen.
inline constexpr uint32_t kStepWindow = 32;
// Chunks that wait for a reduction at most, in memory of the communicator. 2 to kStepWindow;
// chosen.
inline constexpr uint32_t kChunkSlots = 8;
// Bytes that are combined or copied between two looks at the network: at 6.7 GB/s some 20 us. 16
// KiB to 1 MiB; chosen.
inline constexpr uint64_t kCombineBudget = 128 << 10;
// A call of at most this size sends all small messages from copies, so that it ends when it has
// received its data, and not one round trip later. kSmallMessageBytes to 1 MiB (`bench/run
// allreduce`).
inline constexpr uint64_t kCopiedCallBytes = 64 << 10;
// Such messages that are not acknowledged yet; a rank that is further ahead waits. 8 to 1,024;
// chosen.
inline constexpr size_t kBufferedSends = 64;
// They are polled whenever this number of new ones was sent. 1 to kBufferedSends; chosen.
inline constexpr size_t kBufferedSendsLookEvery = 16;
// Registered user buffers that are remembered. 8 to 1,024; chosen.
inline constexpr size_t kCachedRegions = 64;
// Slots that are registered at once. 1 to 256; chosen.
inline constexpr uint32_t kSlabSlots = 16;
// A rank that should connect is probed after this, and is dead when its host has not answered the
// probe within the other: 4.5 s together, of 5 s that docs/reference/collectives.md promises. 100
// ms to 1 s; 1 to 4 s; chosen.
inline constexpr Nanos kProbeUnconnectedAfter = millis(500);
inline constexpr Nanos kProbeAnswerWithin = seconds(4);

// --- schedules ---

// A message that is neither forwarded nor reduced is cut into pieces of this, bytes. 1 MiB to the
// largest message of the transport, 1 GiB; chosen.
inline constexpr uint64_t kMessageBytes = uint64_t{256} << 20;
// Chunks of one segment that go round a ring together: while one is reduced, others travel. 2 to
// 16; chosen.
inline constexpr uint64_t kRingChunks = 4;
// Chunks that a chain or a binomial reduction holds before it forwards them. 2 to 32; chosen.
inline constexpr uint64_t kForwardPlaces = 8;
// Partial sums that each of the two trees holds. 2 to 32; chosen.
inline constexpr uint64_t kTreePlaces = 4;
// Pieces of an all-to-all in place that wait for their destination to be sent. 2 to 32; chosen.
inline constexpr uint64_t kExchangePlaces = 8;

// --- shared memory ---

// Payload of a cell, bytes: two pages. 1 to 64 KiB; chosen.
inline constexpr uint32_t kCellBytes = 8192;
// Cells of a stream's short ring, which small messages use and which stays in the cache, and of its
// long ring: half a MiB that a sender is ahead. Powers of two, 2 to 256; chosen.
inline constexpr uint32_t kShortCells = 8;
inline constexpr uint32_t kLongCells = 64;
// Bytes of a message that are read from the sender's memory at once: they are combined while they
// are in the cache (L2). 16 KiB to 1 MiB; chosen.
inline constexpr uint64_t kPullBytes = 128 << 10;

// --- rendezvous ---

// Pause between two attempts to reach the store. 10 ms to 1 s; chosen.
inline constexpr Nanos kRetryPause = millis(100);
// Paths of a connection to the store, so that a dead one does not matter. 2 to 16;
// chosen.
inline constexpr uint16_t kRendezvousPaths = 2;
// For this long the first of the store's addresses is preferred to others that answer sooner. As
// the connection attempt delay of RFC 8305, section 5: 250 ms; 100 ms to 2 s.
inline constexpr Nanos kPreferFirstStore = millis(250);
// A store that is connected answers within this, else it is none. Above any round trip; chosen.
inline constexpr Nanos kWelcomeWithin = seconds(1);
// Addresses of the store that are tried. 1 to 64; chosen.
inline constexpr size_t kStoreAddresses = 16;
// The store sends the list of missing ranks to a rank this long before that rank's timeout. 0.1 to
// 1 s; chosen.
inline constexpr Nanos kReportBeforeTimeout = millis(300);
// A store whose group failed still answers ranks that come this much later. 0 to 10 s; chosen.
inline constexpr Nanos kServeAfterEnd = seconds(1);
// A registered rank that was silent for longer is probed before the group is sent. 0.1 to 10 s;
// chosen.
inline constexpr Nanos kProbeRankAfter = seconds(1);
// A connection that has not registered after this time is closed; and the most of them at once:
// they limit what unknown peers can occupy of a store. 1 to 60 s; 16 to 1,024; chosen.
inline constexpr Nanos kRegisterWithin = seconds(5);
inline constexpr size_t kUnregisteredConnections = 128;
// Connections of a store beyond its ranks': those that have not registered, and ranks that come
// again. At least kUnregisteredConnections, to 4,096; chosen.
inline constexpr uint32_t kSpareConnections = 256;
// Bytes of a registration and of its answer that are received: addresses, and texts of up to 1,024
// bytes; more is another program's. 2,048 to 65,536; 4,096 to 65,536; chosen.
inline constexpr size_t kMaxRegistrationBytes = 4'096;
inline constexpr size_t kMaxAnswerBytes = 8'192;
// What a stranger can put into an error, bytes. 80 to 1,024; chosen.
inline constexpr size_t kRefusalTextBytes = 300;
// Ranges of ranks that an error names before it says how many more there are. 1 to 32; chosen.
inline constexpr size_t kNamedRanges = 8;
// The longest sleep while ranks meet: signals are looked at this often. 10 ms to 1 s; chosen.
inline constexpr Nanos kRendezvousTurn = millis(100);
// Rank 0 serves this long after the group is complete, until its answers are acknowledged. 0.5 to
// 10 s; chosen.
inline constexpr Nanos kAnswerDrainTime = seconds(2);
// An earlier run may hold the store's port for this long. Above kAnswerDrainTime, to 10 s; chosen.
inline constexpr Nanos kStorePortWait = seconds(3);
// Ranks of a run: bounds what a damaged or forged message allocates. 1,024 to 2^20; chosen.
inline constexpr uint32_t kMostRanks = 65'536;
// A rank's timeout, which a stranger may claim, at most: more is a damaged message. 1 to 365 days;
// chosen.
inline constexpr Nanos kLongestPatience = seconds(30LL * 86'400);
// Between two looks at a store of files; the first are closer, and each pause doubles. 1 to 10 ms;
// 10 to 500 ms; chosen.
inline constexpr std::chrono::milliseconds kFirstStorePause{1};
inline constexpr std::chrono::milliseconds kLongestStorePause{50};
// Between two looks at whether a newcomer's key has counted up. 1 to 50 ms; chosen.
inline constexpr std::chrono::milliseconds kNewcomerLook{10};
// Bytes of the file that names a store, and of one with costs: some kilobytes; more is another
// file. 8 KiB to 1 MiB; chosen.
inline constexpr size_t kMostStoreFileBytes = 65'536;
inline constexpr size_t kMostCostsFileBytes = 65'536;
// Bytes of a handle that are read, and that an error quotes: it comes from another process. 256 to
// 8,192; 80 to 1,024; chosen.
inline constexpr size_t kMostHandleBytes = 1024;
inline constexpr size_t kMostQuotedBytes = 200;
// Tries to write the store's file where an earlier run removes its folder meanwhile. 2 to 64;
// chosen.
inline constexpr int kStoreTries = 8;
// Ports of Slurm jobs' stores: below 32,768, the first that Linux gives to those who ask for any;
// 625 jobs of 16 steps each are 10,000. 10,000 to 22,768; 64 to 768; 4 to 64; chosen.
inline constexpr uint32_t kFirstSlurmPort = 20'000;
inline constexpr uint32_t kSlurmJobs = 625;
inline constexpr uint32_t kSlurmSteps = 16;

}  // namespace heddle::collectives::params
