// Constants of judgement of acceptance tests: unit, source, reasonable range. What a customer
// may want to change is in expectations.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::acceptance::params {

// --- measuring ---

// Time of one bandwidth test of a pair by depth. Chosen: two hundred round trips of a full queue
// of 5 ms. Range: 500 ms to 60 s.
inline constexpr Nanos kQuickFlow = millis(1'000);
inline constexpr Nanos kNormalFlow = seconds(2);
inline constexpr Nanos kFullFlow = seconds(10);
// Times that a measurement below its expectation is repeated; the best counts, because other
// programs on the machine can only lower it. Chosen. Range: 1 to 5.
inline constexpr int kRepeats = 2;
// A message of a bandwidth test takes about this time on the pair's links, its largest size, and
// how many are in flight: where several pairs share a link, as in an incast of slow links, a test
// ends when the last of these have arrived. Chosen. Range: 5 to 50 ms; 1 to 4 MiB; 4 to 16.
inline constexpr Nanos kFlowMessage = millis(10);
inline constexpr Bytes kMostFlowMessage = mebibytes(1);
inline constexpr int kFlowWindow = 8;
// Times that a link below its rate is loaded again before it is named, and pairs of hosts that load
// it at once. Measured: with 15 programs waiting for two processors a good link stayed at 55% of
// its rate in one of five runs. Range: 1 to 5; 4 to 32.
inline constexpr int kLinkRepeats = 3;
inline constexpr size_t kMostLoadingPairs = 16;
// Quick tests repeat nothing after this time: they shall end within a minute. Chosen. Range: 15 to
// 40 s.
inline constexpr Nanos kQuickRepeats = seconds(20);
// A child that has not ended this long after its measuring time is ended. It is above heddle's
// time to find a dead peer, 5 s by default. Chosen. Range: 6 to 60 s.
inline constexpr Nanos kChildGrace = seconds(8);
// From SIGTERM to SIGKILL of a child. Chosen. Range: 100 ms to 5 s.
inline constexpr Nanos kTermGrace = millis(1'000);
// How long a server may take until it listens. Chosen. Range: 2 to 30 s.
inline constexpr Nanos kServerStart = seconds(10);
// How long machines may take to answer what they are: logging in to a slow one. Chosen. Range: 10 s
// to 2 min.
inline constexpr Nanos kFactsTime = seconds(30);
// How long nvidia-smi may take to list GPUs: without the driver's persistence mode seconds. Chosen.
// Range: 2 to 20 s.
inline constexpr Nanos kGpuListTime = seconds(10);
// A clock whose program says that it is further off is named, in seconds: recordings of two
// machines would be laid over each other wrongly. Chosen. Range: 0.01 to 1.
inline constexpr double kClockError = 0.1;
// Of the recording of a machine as it is fetched, packed: it is in memory meanwhile. Chosen. Range:
// 1 to 64 GiB.
inline constexpr size_t kMostRecordingBytes = size_t{16} << 30;
// How long files on machines may take to be removed. Chosen. Range: 2 to 30 s.
inline constexpr Nanos kCleanTime = seconds(10);
// Clocks that are further apart are named, in seconds: times of log files cannot be compared.
// Chosen. Range: 0.2 to 10.
inline constexpr double kClockApart = 1;
// How often counters of links are read, and over how long a link's highest rate is taken: several
// of the token buckets' bursts. Chosen. Range: 20 to 200 ms; 100 ms to 1 s.
inline constexpr Nanos kMeterInterval = millis(50);
inline constexpr Nanos kPeakSpan = millis(200);
// How often live figures are renewed at most, and how many times as long as it took to read the
// counters: on a lab it runs programs in each namespace, 35 ms for six of them (`heddle lab
// status`). Range: 1 to 5 s; 20 to 100.
inline constexpr Nanos kLiveInterval = seconds(2);
inline constexpr int kLivePause = 50;
// Most time of one call of the largest all-reduce at the fabric's bound, and the smallest and the
// largest of all sizes. Chosen: long against a round trip, short for a quick test. Range: 50 ms to
// 1 s; 1 to 64 KiB; 32 MiB to 1 GiB.
inline constexpr Nanos kCallTime = millis(300);
inline constexpr Bytes kSmallest = kibibytes(64);
inline constexpr Bytes kMostLargest = mebibytes(256);
// The largest where no rate is known. Chosen: 0.3 s at 2 Gbit/s. Range: 4 to 256 MiB.
inline constexpr Bytes kLargestUnbounded = mebibytes(32);
// Most time of a quick or normal run of all-reduces, and of reading a recording. Chosen. Range: 10
// s to 2 min.
inline constexpr Nanos kBenchTime = seconds(30);
inline constexpr Nanos kReadTime = seconds(30);
// Communication of a training step at the fabric's bound, by depth: ResNet-18's gradients are cut
// to what it carries in that time. Chosen. Range: 50 ms to 10 s.
inline constexpr Nanos kQuickCommunication = millis(250);
inline constexpr Nanos kNormalCommunication = millis(800);
inline constexpr Nanos kFullCommunication = seconds(4);
// The same where no rate is known, for the computation beside it. Chosen. Range: 1 to 500 ms.
inline constexpr Nanos kUnknownCommunication = millis(50);
// Communication, of the backward pass that it runs beside: three quarters can be hidden with some
// reserve. Chosen. Range: 0.5 to 0.9.
inline constexpr double kCommunicationShare = 0.75;
// Time and number of the timed steps. Chosen. Range: 1 to 30 s; 2 to 10; 10 to 1,000.
inline constexpr Nanos kTrainingTime = seconds(2);
inline constexpr uint32_t kLeastTrainingSteps = 3;
inline constexpr uint32_t kMostTrainingSteps = 50;
// Images a host and step of ResNet-18, and the time that they shall take to compute, of that which
// the fabric takes to sum the gradients. Chosen: batches that people train with; a healthy fabric
// hides most. Range: 8 to 1,024; 1 to 2.
inline constexpr size_t kLeastTrainingBatch = 16;
inline constexpr size_t kMostTrainingBatch = 256;
inline constexpr double kComputingBeside = 1.3;
// How long PyTorch may take to be imported, and to train. Chosen. Range: 10 to 120 s; 1 to 10 min.
inline constexpr Nanos kImportTime = seconds(60);
inline constexpr Nanos kTorchTime = seconds(180);
// A step may take this much longer than computing and communicating one after the other: noise of
// single steps. Chosen. Range: 1 to 1.3.
inline constexpr double kTrainingTolerance = 1.1;
// Losses of two backends may differ by the order of sums. Measured: below 0.01. Range: 0.01 to 0.2.
inline constexpr double kLossTolerance = 0.05;
// Calls and waits of a recording that a report draws: its page stays small. Chosen: 4 ranks with
// some thousand. Range: 500 to 20,000.
inline constexpr size_t kMostMoments = 3'000;
// Hosts up to which quick tests measure every pair. Chosen. Range: 4 to 16.
inline constexpr size_t kQuickHosts = 8;
// Partners of each host in a sample of the pairs. Chosen. Range: 2 to 8.
inline constexpr size_t kPartners = 4;

// --- judging ---

// Slow pairs that have a row of their own. Chosen. Range: 3 to 20.
inline constexpr size_t kMostPairRows = 4;

// UDP header and heddle's header of data; IP headers; Ethernet header, which rates of a lab count.
inline constexpr uint32_t kHeaderBytes = 8 + 40;
inline constexpr uint32_t kIpv4Bytes = 20;
inline constexpr uint32_t kIpv6Bytes = 40;
inline constexpr uint32_t kFrameBytes = 14;
// A figure below its least expectation but above this share of it is a warning. Chosen. Range:
// 0.6 to 0.9.
inline constexpr double kWarnShare = 0.75;
// Plain UDP of which less than this share arrives has a note of why. Chosen. Range: 0.8 to 0.99.
inline constexpr double kUdpCollapse = 0.9;
// A link that carried more than this share of its rate has another rate than it should. Bursts of
// a token bucket over kPeakSpan are a few percent. Chosen. Range: 1.1 to 1.5.
inline constexpr double kTooFast = 1.25;
// A link is slow without drops too where its peers' median peak is this many times its own.
// Chosen. Range: 1.5 to 3.
inline constexpr double kBelowPeers = 2.0;
// A link that drops less than this part of what its slower neighbor drops is limited by that one.
// Measured: 20 drops before a link with 91, at a fifth of the rate. Range: 2 to 10.
inline constexpr uint64_t kDropsBefore = 3;
// The least latency of a pair may be this many times that of pairs with routes as long, and this
// much more in microseconds: what a busy host adds. Chosen. Range: 1.5 to 4; 50 to 500.
inline constexpr double kLatencyFactor = 2.0;
inline constexpr double kLatencyExtraUs = 150;
// What hosts add to the latency that queues make. Chosen, as lab's kStall: a sleeping thread woke
// up to 11.6 ms late on two cores. Range: 1 to 30 ms.
inline constexpr Nanos kHostTime = millis(10);
// Bytes of a communication matrix that may be others than the formulas say. Measured: below 0.01%.
// Range: 0.1% to 2%.
inline constexpr double kMatrixShare = 0.01;
// Packets on a link below which a share of errors is not judged. Chosen. Range: 100 to 10,000.
inline constexpr uint64_t kLeastPackets = 500;
// Above this share of the processors' time for other programs a report says so. Chosen. Range: 0.1
// to 0.5.
inline constexpr double kDisturbed = 0.25;
// A speed below this share of what is expected fails on a disturbed machine, too. Chosen: other
// programs at a quarter to three quarters of the processors leave more. Range: 0.1 to 0.4.
inline constexpr double kDisturbedFloor = 0.2;

}  // namespace heddle::acceptance::params
