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
inline constexpr Nanos kFullFlow = seconds(60);
// What quick and normal tests divide it by for TCP and RC, and for UDP, which are beside heddle's
// figures; for heddle's latency, and for that of TCP, UDP and RC; and a load's time for a latency
// beside it. A full test gives each the whole time. Chosen: a round of a quick test takes 3 s.
// Range: 1 to 4; 1 to 8; 1 to 10; 1 to 20; 1 to 4.
inline constexpr int64_t kStreamPart = 2;
inline constexpr int64_t kDatagramPart = 4;
inline constexpr int64_t kLatencyPart = 5;
inline constexpr int64_t kPlainLatencyPart = 10;
inline constexpr int64_t kBesidePart = 2;
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
// Of the recordings of a machine, packed and in all its files: they are in memory while they are
// fetched. Chosen: a rank's is 64 MiB by default. Range: 1 to 64 GiB.
inline constexpr uint64_t kMostRecordingBytes = uint64_t{4} << 30;
// Files and folders of an archive that a machine sent. Chosen: one file a rank, and some for a
// training job's processes. Range: 100 to 100,000.
inline constexpr size_t kMostRecordingFiles = 4'096;
// How long files on machines may take to be removed. Chosen. Range: 2 to 30 s.
inline constexpr Nanos kCleanTime = seconds(10);
// A folder of recordings on a machine in which nothing has changed for this time is of a test that
// was killed. Chosen: a folder is there for the minutes of one stage. Range: 2 h to a month.
inline constexpr Nanos kStaleFolderAge = seconds(24 * 3'600);
// Round trips of a test of RC that are kept until they are counted, and how long its other end may
// take to answer: opening an RDMA device takes milliseconds, but above 5 s on an emulated processor
// that others keep busy. Chosen: 100,000 of 2 us take 0.2 s. Range: 1,000 to 1,000,000; 1 to 60 s.
inline constexpr size_t kMostRdmaPings = 100'000;
inline constexpr Nanos kRdmaAnswer = seconds(20);
// Letters of an error that a server of tests of RC sends to its client (rdma_tests.cc). Chosen:
// what failed and why in one line. Range: 40 to 127, the longest line of lab::ControlLine.
inline constexpr size_t kRdmaErrorLetters = 120;
// The port of TCP and UDP of plain sockets, and of TCP of the tests of RC: one after the other.
// Chosen: behind that of `heddle perf`, docs/reference/ports.md. Range: 1,024 to 32,767, below
// Linux's ephemeral ports.
inline constexpr uint16_t kSocketPort = 18'702;
// Of a command's standard output, and of its errors: it is ended where it writes more. Chosen: the
// table of a sweep has some kilobytes. Range: 16 to 256 MiB.
inline constexpr size_t kMostOutputBytes = size_t{64} << 20;
// Bytes at the end of a limited program's errors, in which the last line is searched, and the time
// between two looks for Ctrl-C, in ms: its end wakes at once where Linux has pidfds
// (limited_program.cc). Chosen. Range: 4 KiB to 1 MiB; 10 to 200.
inline constexpr size_t kSearchedErrorBytes = 65'536;
inline constexpr int kProgramLookMs = 50;
// Tries to find another name for a file that is there already. Chosen. Range: 10 to 10,000.
inline constexpr int kMostNameTries = 1'000;
// What files are compared in, at a time. Chosen. Range: 64 KiB to 16 MiB.
inline constexpr size_t kComparedBytes = size_t{1} << 20;
// Numbers that a machine sends of a PCIe link: lanes, of which PCI Express has 32 at most, and
// GT/s, of which it has 64. Range: 32 to 10,000; 64 to 1e9.
inline constexpr int kMostLanes = 1'024;
inline constexpr double kMostTransfers = 1e6;
// And of its clock's error, in seconds, and a NIC's rate, in bits/s. Chosen: eleven days, and a
// thousand times today's fastest. Range: 1e3 to 1e9; 1e13 to 1e18.
inline constexpr double kMostClockError = 1e6;
inline constexpr double kMostNicRate = 1e15;
// In which drivers report rates, in bits/s: a port whose rate is that far from its link's has
// another one. The kernel's `speed` is in Mbit/s. Range: 1e6 to 1e8.
inline constexpr double kPortRateUnit = 1e6;
// Hooks of a machine's firewall. nftables has six of a family. Range: 6 to 64.
inline constexpr size_t kMostHooks = 8;
// Letters of an address. An IPv6 address that ends with an IPv4 one has 45. Range: 45 to 64.
inline constexpr size_t kMostAddressLetters = 45;
// Sizes in a table of nccl-tests, of which verify asks for fewer than twenty, and GPUs of a host.
// Chosen. Range: 16 to 1,000; 16 to 10,000.
inline constexpr size_t kMostNcclSizes = 64;
inline constexpr size_t kMostGpus = 1'024;
// Of a text that a machine sent, in characters: one line of a report. Chosen. Range: 200 to 2,000.
inline constexpr size_t kMostText = 500;
// Of a document that a machine sent, in objects and lists within each other. Chosen: those of this
// version have eight. Range: 16 to 1,000.
inline constexpr int kMostDepth = 64;
// Of the name of a NIC, a counter or a fact, in bytes: the kernel's of a NIC have 15 at most, those
// of InfiniBand 63. Range: 63 to 255.
inline constexpr size_t kMostNameBytes = 127;
// NICs and ports of a machine, its counters of one, and its facts; more are left out. Chosen: a
// machine with 8 NICs of some hundred virtual functions, mlx5's hw_counters. Range: 64 to 4,096.
inline constexpr size_t kMostNics = 256;
inline constexpr size_t kMostCounters = 256;
inline constexpr size_t kMostFacts = 64;
// How often each machine's clock is read, and what its answers begin with. Chosen: the shortest of
// eight round trips is near the network's. Range: 4 to 32.
inline constexpr size_t kClockReadings = 8;
inline constexpr const char* kClockGreeting = "heddle clock";
// Clocks that are further apart are named, in seconds: times of log files cannot be compared.
// Chosen. Range: 0.2 to 10.
inline constexpr double kClockApart = 1;
// Clocks of which one can be named as that which is off, and the error, in seconds, below which an
// offset counts for what most have. Chosen: two cannot outvote each other; a tenth of kClockApart.
// Range: 3 to 5; 0.01 to 0.5.
inline constexpr size_t kLeastClocks = 3;
inline constexpr double kClockVote = 0.1;
// How often counters of links are read, and over how long a link's highest rate is taken: several
// of the token buckets' bursts. Chosen. Range: 20 to 200 ms; 100 ms to 1 s.
inline constexpr Nanos kMeterInterval = millis(50);
inline constexpr Nanos kPeakSpan = millis(200);
// How often live figures are renewed at most, and how many times as long as it took to read the
// counters: on a lab it runs programs in each namespace, 35 ms for six of them (`heddle lab
// status`). Range: 1 to 5 s; 20 to 100.
inline constexpr Nanos kLiveInterval = seconds(2);
inline constexpr int kLivePause = 50;
// Most time of one call of the largest collective at the fabric's bound, and the largest of all
// sizes. Chosen: long against a round trip, short for a quick test. Range: 50 ms to 1 s; 32 MiB to
// 1 GiB.
inline constexpr Nanos kCallTime = millis(300);
inline constexpr Bytes kMostLargest = mebibytes(256);
// Calls of a large collective that are timed, of each side, and the most of them in a full test,
// whose number comes of their time. Chosen: three take some seconds; 256 MiB at 3 Tbit/s are 40,000
// calls in half a minute. Range: 2 to 20; 10,000 to 1,000,000.
inline constexpr uint32_t kCollectiveCalls = 3;
inline constexpr uint32_t kMostCollectiveCalls = 100'000;
// How many times its minute such a collective may take until it is ended: calls that become slower.
// Chosen. Range: 2 to 10.
inline constexpr int64_t kCollectivePatience = 4;
// Sizes in the tables of reduce-scatter, all-gather and all-to-all, up to the large one, and the
// factor from one to the next. Chosen: they add a fifteenth of its time. Range: 3 to 10; 4 to 64.
inline constexpr uint32_t kCollectiveSizes = 3;
inline constexpr uint64_t kCollectiveFactor = 16;
// The smallest size of all-reduces, whose time is the latency of a call, and the factor from one
// size to the next, and that of --full. Chosen: seven sizes up to 4 MiB, which the lab's fabric
// takes. Range: 8 B to 64 KiB; 2 to 8; 2 to 4.
inline constexpr Bytes kSmallestCall = kibibytes(1);
inline constexpr uint64_t kCallFactor = 4;
inline constexpr uint64_t kFullCallFactor = 2;
// The smallest of a single size, and of a message of a bandwidth test. Chosen, above a full
// segment. Range: 16 to 256 KiB.
inline constexpr Bytes kSmallest = kibibytes(64);
// The largest where no rate is known. Chosen: 0.3 s at 2 Gbit/s. Range: 4 to 256 MiB.
inline constexpr Bytes kLargestUnbounded = mebibytes(32);
// Most time of a quick or normal run of all-reduces, and of reading a recording. Chosen. Range: 10
// s to 2 min.
inline constexpr Nanos kBenchTime = seconds(30);
inline constexpr Nanos kReadTime = seconds(30);
// How long hosts may take until all TCP connections of a load are open. Chosen: a lost SYN is
// repeated after 1 and 3 s. Range: 3 to 30 s.
inline constexpr Nanos kTcpMeeting = seconds(5);
// Ranks of a communication matrix that the report's page draws: a cell is a rectangle of its
// picture. Chosen: 65,536 cells, each some 2 pixels wide. Range: 64 to 512.
inline constexpr size_t kMostDrawnRanks = 256;
// Flows of a load over TCP: each has a connection and two threads. Chosen: all-to-all of 64 hosts.
// Range: 256 to 16,384.
inline constexpr size_t kMostTcpFlows = 4'096;
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
// Layers into which ResNet-18's gradients are cut, and those of a bucket (training_job.cc): the
// first bucket is summed beside three quarters of the backward pass. Chosen. Range: 4 to 62, its
// tensors; 1 to a quarter of the layers.
inline constexpr uint32_t kTrainingLayers = 8;
inline constexpr uint32_t kLayersOfBucket = 2;
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
// Of the shorter of computing and communicating, what a step hides at least: the backward pass,
// two thirds of it, can. Chosen: half of these. Range: 0.1 to 0.6.
inline constexpr double kHiddenShare = 1.0 / 3;
// Losses of two backends may differ by the order of sums. Measured: below 0.01. Range: 0.01 to 0.2.
inline constexpr double kLossTolerance = 0.05;
// Calls and waits of a recording that a report draws: its page stays small. Chosen: 4 ranks with
// some thousand. Range: 500 to 20,000.
inline constexpr size_t kMostMoments = 3'000;
// Paths of pairs, of all pairs together, whose figures are kept: each is three series of
// Prometheus. Chosen. Range: 256 to 8,192.
inline constexpr size_t kMostPaths = 1'024;
// Hosts up to which quick tests measure every pair. Chosen. Range: 4 to 16.
inline constexpr size_t kQuickHosts = 8;
// Partners of each host in a sample of the pairs. Chosen. Range: 2 to 8.
inline constexpr size_t kPartners = 4;

// Levels of a report's document; ours have ten. Chosen. Range: 16 to 1,000.
inline constexpr int kDeepestReport = 64;
// Folders in folders of a report whose files are summed: each level holds a descriptor
// (manifest.cc). Chosen: above those of any report. Range: 8 to 256.
inline constexpr size_t kDeepestFolder = 64;
// Bytes of a manifest, and of a key or a signature (signature.cc). Chosen: some 500,000 files; a
// PEM file of Ed25519 has 119 bytes. Range: 1 to 256 MiB; 1 to 1,024 KiB.
inline constexpr size_t kMostManifestBytes = size_t{64} << 20;
inline constexpr size_t kMostPemBytes = 65'536;
// Hosts of a good group that are named. Chosen: a line of a report. Range: 4 to 64.
inline constexpr size_t kMostNamedHosts = 16;

// --- judging ---

// Slow pairs that have a row of their own. Chosen. Range: 3 to 20.
inline constexpr size_t kMostPairRows = 4;

// UDP header and heddle's header of data; IP headers; Ethernet header, which rates of a lab count.
inline constexpr uint32_t kHeaderBytes = 8 + 40;
// UDP, base and extended transport headers and the invariant CRC of a RoCE v2 packet (InfiniBand
// specification, annex A17): 8, 12, 16 of a write, and 4.
inline constexpr uint32_t kRoceBytes = 40;
inline constexpr uint32_t kIpv4Bytes = 20;
inline constexpr uint32_t kIpv6Bytes = 40;
inline constexpr uint32_t kFrameBytes = 14;
// A figure below its least expectation but above this share of it is a warning. Chosen. Range:
// 0.6 to 0.9.
inline constexpr double kWarnShare = 0.75;
// Plain UDP of which less than this share arrives has a note of why. Chosen. Range: 0.8 to 0.99.
inline constexpr double kUdpCollapse = 0.9;
// Plain UDP of which at least this share of what was offered is sent was sent as offered: the first
// datagrams wait for the sender's thread. Chosen. Range: 0.8 to 0.98.
inline constexpr double kOffered = 0.9;
// A link that carried more than this share of its rate has another rate than it should. Bursts of
// a token bucket over kPeakSpan are a few percent. Chosen. Range: 1.1 to 1.5.
inline constexpr double kTooFast = 1.25;
// Ports that counted less than this share of the bus bandwidth do not count what was sent. Chosen:
// the highest rate over kPeakSpan is above the mean. Range: 0.5 to 1.
inline constexpr double kCountedShare = 0.8;
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
// What hosts of an emulated fabric add to the latency that queues make. Chosen, as lab's kStall: a
// sleeping thread woke up to 11.6 ms late on two cores. Range: 1 to 30 ms.
inline constexpr Nanos kHostTime = millis(10);
// What machines and the network add to it, of their p99 on the idle fabric. Chosen: processors and
// NICs are busy beside the incast. Range: 1.5 to 5.
inline constexpr double kIdleLatencies = 3;
// From this number of hosts on, the two whose latency is measured beside an incast send nothing of
// it. Chosen: of fewer no incast of two senders is left. Range: 5 to 8.
inline constexpr uint32_t kHostsForBystanders = 5;
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

// Hosts in pairs that failed up to which the fewest are left out, by a search whose time doubles
// with each few hosts: 20 in 190 pairs take less than a millisecond (host_cover_test). Range: 10
// to 40.
inline constexpr size_t kMostCoveredHosts = 20;
// Times that a group of hosts whose test failed is tested again without what failed in it. Chosen:
// a test takes up to a minute. Range: 1 to 5.
inline constexpr int kMostRegroupings = 3;

// --- baselines ---

// Shares of packets with errors, and retransmitted, that a threshold allows although earlier runs
// had fewer: these are chance. Chosen. Range: 0 to 0.0001; 0.0001 to 0.01.
inline constexpr double kFewErrors = 1e-5;
inline constexpr double kFewRetransmitted = 1e-3;
// The most that a threshold allows to be lost: a share of all would judge nothing. Range: 0.5 to
// 0.999.
inline constexpr double kMostLost = 0.99;

}  // namespace heddle::acceptance::params
