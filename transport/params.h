// Constants of judgement of the transport, by the part that uses them. Each names its unit, where
// the value comes from (an RFC, a paper, a measurement, or "chosen"), and the range that is
// reasonable; the tests were run with the values below only. Limits that follow from a wire format
// or an integer's width stay with their code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport::params {

// --- batches of bursts (tx_batch.h) ---

// Bytes of a burst, headers included. Chosen: below the 65,507 of a UDP datagram over IPv4, as
// which Linux takes a burst (GSO). Range: a datagram to 65,507.
inline constexpr uint32_t kMaxBurstBytes = 64'000;
// Bursts of a batch, after which an engine returns to its input: a large window must not starve
// acknowledgements (engine/driver.cc). Chosen. Range: 4 to 64.
inline constexpr size_t kMaxBursts = 16;
// Bytes of a packet that is all header: a path's size is tried with one. Chosen: the jumbo frames
// of switches. Range: 8,952, the largest of kProbedSizes, to 10,240.
inline constexpr size_t kLargestPacket = 9'216;

// --- datagram sizes (path/pmtu_prober.h) ---

// BASE_PLPMTU: the UDP payload, in bytes, that every network is assumed to pass. RFC 8899 section
// 5.1.2 and RFC 9000 section 14.1: IPv6's 1,280 bytes less IP and UDP headers. Range: 1,200 to
// 1,232.
inline constexpr uint32_t kBaseDatagram = 1200;
// Sizes to search, in bytes of UDP payload: Ethernet MTUs of 9,000 and 4,096 less IPv6 headers;
// 1,500 less IPv4 headers, IPv6 headers, and tunnel headers. Source: common MTUs. Range: any
// descending list that ends with kBaseDatagram.
inline constexpr std::array<uint32_t, 6> kProbedSizes = {8952, 4048, 1472,
                                                         1452, 1400, kBaseDatagram};
// MAX_PROBES: lost probes of one size before the next smaller size is tried. RFC 8899
// section 5.1.2. Range: 1 to 3.
inline constexpr uint8_t kSizeProbes = 3;
// Round trips in which a path lost all its large datagrams while small packets arrived, before the
// search starts again (black hole detection, RFC 8899 section 4.3). Chosen. Range: 1 to 3.
inline constexpr uint8_t kBlackHoleRounds = 3;
// Size probes in flight over all paths of a connection. Chosen: a probe of 9,000 bytes may be
// dropped, so they stay a small part of the window. Range: 1 to 16.
inline constexpr uint32_t kSizeProbesInFlight = 4;
// Their bytes stay below this part of the peer's receive capacity. Chosen. Range: 2 to 16.
inline constexpr uint64_t kSizeProbesCapacityPart = 4;

// --- liveness of paths (path/path_liveness.h) ---

// Unanswered tail probes of an active path before it becomes suspect. Chosen; RFC 9002 section 7.6
// takes three PTOs for persistent congestion. Range: 1 to 5.
inline constexpr uint8_t kTailProbes = 2;
// The PTO of an active path backs off up to this time. Chosen: below the 5 s after which a peer is
// dead. Range: 100 ms to 2 s.
inline constexpr Nanos kLongestPto = seconds(1);
// A suspect path is probed at least this often. Chosen: payload returns to a repaired path within
// this time. Range: 50 ms to 1 s.
inline constexpr Nanos kLongestProbeInterval = millis(250);
// Least time by which other paths must have outrun a path before it counts as silent. Chosen: what
// a host's scheduler delays. Range: 1 to 10 ms.
inline constexpr Nanos kLeastSilence = millis(3);
// Least time between two searches for silent paths. Chosen: bounds the cost with 256 paths. Range:
// 100 us to 1 ms.
inline constexpr Nanos kSilenceCheckEvery = micros(500);
// Added to the tail-loss delay: what a busy host adds to a round trip now and then. Chosen. Range:
// 50 us to 1 ms.
inline constexpr Nanos kTailLossSlack = micros(150);

// --- records of lost packets (recovery/loss_detection.h) ---

// An idle path checks this often whether records of lost packets may be dropped. Chosen. Range:
// 10 to 250 ms.
inline constexpr Nanos kForgetEvery = millis(50);
// Records of lost packets are kept for this many smoothed round trips of their path, to recognize
// spurious retransmissions, and at least for kForgetAfterLeast. Chosen. Range: 4 to 16; 10 to 250
// ms.
inline constexpr int64_t kForgetAfterTrips = 8;
inline constexpr Nanos kForgetAfterLeast = millis(50);
// Records of lost bursts kept on a path. Chosen: bounds memory. Range: 64 to 1,024.
inline constexpr uint32_t kLostBurstsRemembered = 256;
// A packet is lost, whatever the reorder window says, if one that left this much later was
// acknowledged: half a smoothed round trip and this time. Chosen. Range: 50 us to 1 ms.
inline constexpr Nanos kStaleSlack = micros(100);
// Upper limit of the reorder window's time, where the smoothed round trip is shorter. Chosen.
// Range: 500 us to 10 ms.
inline constexpr Nanos kReorderLimitLeast = millis(1);

// --- choice of a path (path/path_scheduler.h) ---

// A window over several paths leaves in this many bursts, so that no path's queue grows by more
// than this part of it. Measured with four links of 200 Mb/s: two_choices uses them to 88, 93 and
// 96% with 16, 32 and 64 bursts, reps to 99% with 32. Range: 16 to 64.
inline constexpr uint64_t kBurstsAWindow = 32;
// Small messages share a path for at most this time. Chosen. Range: 100 us to 1 ms.
inline constexpr Nanos kLongestBurst = micros(500);
// A burst holds at least what the pacing rate sends in this time. Chosen: a queue of 15 us is below
// what hosts add. Range: 5 to 50 us.
inline constexpr Nanos kShortBurst = micros(15);
// Selections per burst, at most, until one falls on a path with recent samples. Chosen. Range: 1
// to 8.
inline constexpr int kSelectionTries = 3;
// Stale paths are probed once per half burst of payload; at low load (less than half a burst in
// flight) once per this many half bursts, since there a probe delays the next message. Chosen.
// Range: 16 to 256.
inline constexpr uint64_t kSparedStaleProbes = 64;
// At low load stale paths are probed at least this often all the same. Chosen. Range: 10 ms to 1 s.
inline constexpr Nanos kStaleProbeEvery = millis(100);
// A path may hold this many times its even share of the window, so that a slow path cannot hold all
// of it. Chosen. Range: 2 to 4.
inline constexpr uint64_t kPathShares = 2;
// The age of path samples is counted in phases of this many smoothed round trips, of at least
// kShortestPhase. Chosen. Range: 2 to 8; 10 to 100 us.
inline constexpr int64_t kPhaseTrips = 4;
inline constexpr Nanos kShortestPhase = micros(20);
// Phases without a sample after which a path is stale. Chosen. Range: 2 to 8.
inline constexpr uint8_t kStaleAge = 4;
// Phases that pass at once after a pause, at most. Chosen: enough for all samples to be stale.
// Range: kStaleAge to 128.
inline constexpr int64_t kMostPhases = 16;
// Acknowledged packet numbers of a path after which one recent loss is forgotten. Chosen. Range: 16
// to 256.
inline constexpr uint64_t kLossForgottenAfter = 64;

// --- what may leave (send/send_window.h) ---

// A burst needs at least this part of the window, or a full burst: smaller ones cost a system call
// each. Chosen. Range: 4 to 16.
inline constexpr uint64_t kLeastWindowPart = 8;
// Acknowledgements are requested at least this often per window. Chosen. Range: 2 to 8.
inline constexpr uint64_t kAcksRequestedAWindow = 4;
// What a datagram costs a receiver's socket buffer beyond its bytes. Chosen: about what Linux
// charges for an sk_buff. Range: 256 to 1,024 bytes.
inline constexpr uint32_t kReceiveOverhead = 512;

// --- samples for the congestion controller (congestion/feedback.h) ---

// This part of the window may be trimmed per round trip without a reduction: shared queues overflow
// now and then although the fabric has room. Chosen. Range: 4 to 16.
inline constexpr uint64_t kTrimmedPart = 8;

// --- round trips (path/round_trip.h) ---
namespace round_trip {

// The lowest round trip is of the last half to whole window: long enough to outlast a queue, short
// enough to notice a longer route. RFC 9002 section 5.2 recommends forgetting; 10 s is BBR's
// window. Range: 1 to 30 s.
inline constexpr Nanos kWindow = seconds(10);
// Least slack of a PTO over the smoothed round trip: kGranularity of RFC 9002 section 6.1.2. Range:
// 1 to 5 ms.
inline constexpr Nanos kSlackLeast = millis(1);
// PTO before anything is measured. Chosen: above any round trip between two sites of a training job
// (RFC 9002 section 6.2.2 assumes a round trip of 333 ms for the Internet). Range: 50 ms to 1 s.
inline constexpr Nanos kTimeoutUnmeasured = millis(100);

}  // namespace round_trip

// --- reordering within a path (recovery/reorder_window.h) ---
namespace reorder {

// Packet numbers by which a packet may be overtaken at first. Chosen: RFC 9002 section 6.1.1 takes
// 3 over the Internet, and a fabric keeps order within a path. Range: 1 to 3.
inline constexpr uint8_t kStartNumbers = 2;
// Upper limit of these numbers: a burst. Range: 16 to 255.
inline constexpr uint8_t kMaxNumbers = 64;
// The time part of the window grows from here, and below it is zero. Chosen: what interrupt
// coalescing adds. Range: 5 to 100 us.
inline constexpr Nanos kLeastStep = micros(20);
// Time without a spurious loss before the window narrows, in steps of 2^27 ns: 10 s. RFC 8985
// section 6.2 takes 16 recoveries. Range: 1 to 60 s.
inline constexpr uint16_t kQuiet = 74;

}  // namespace reorder

// --- receive capacity of the peer (send/receive_quota.h) ---
namespace receive_quota {

// A receiver that has input reads it within this time; until then all of it waits in its socket. So
// a sender sends at most capacity / kServiceInterval (3.4 Gb/s with 106,496 bytes, 134 Gb/s with
// 4 MiB), and within shorter round trips only the capacity counts. Chosen: host timers fire 50 to
// 100 us late. Range: 100 us to 1 ms.
inline constexpr Nanos kServiceInterval = micros(250);
// While a round trip delivers this part more than any before, the next one is offered half as much
// again: a receiver that can take no more then loses a third of a round trip, where the doubling of
// slow start would lose half. Chosen. Range: 4 to 16.
inline constexpr uint64_t kGrowingPart = 8;
// Round trips until what was offered is seen to arrive. Follows from the measurement.
inline constexpr uint8_t kGrowingRounds = 2;
// A peak that is not reached again decays by this part a round trip while there is enough to send.
// Chosen. Range: 8 to 64.
inline constexpr uint64_t kForgetPart = 16;
// Largest piece, in bytes, that leaves at once beyond the capacity: a burst. Range: a datagram to
// 64,000.
inline constexpr uint64_t kMostGranule = 64'000;

}  // namespace receive_quota

// --- bursts in one system call (send/segmentation_limit.h) ---
namespace segmentation_limit {

// Rounds in which whole bursts were lost while a single packet arrived, before segments leave one
// by one. Chosen. Range: 2 to 8.
inline constexpr uint32_t kRounds = 4;
// Single segments that arrive before bursts are tried again: at first, and at most; four times as
// many each time that bursts fail. Chosen. Range: 256 to 2^20.
inline constexpr uint32_t kFirstSingles = 4096;
inline constexpr uint32_t kMostSingles = 1u << 20;

}  // namespace segmentation_limit

// --- selectors (path/reps.h, path/two_choices.h) ---
namespace reps {

// One selection in this many may leave a path that came through for an idle one: delays are known a
// round trip late, so if all selections followed them, all would go where the last queue was.
// Chosen. Range: 4 to 32.
inline constexpr uint64_t kExploreEvery = 8;
// Paths remembered, as REPS caches entropies (Bonato et al., 2024). The number is chosen. Range: 8
// to 64.
inline constexpr uint32_t kMost = 32;

}  // namespace reps

namespace two_choices {

// Delays closer than this part, or than this time (what batching at hosts adds), count as equal:
// without the band the path that measured a nanosecond less would win every draw. Chosen. Range: 4
// to 16; 1 to 10 us.
inline constexpr int64_t kBandDivisor = 8;
inline constexpr Nanos kBandLeast = micros(2);
// A lost burst costs a round trip at least, so each recent loss counts as one more round trip; up
// to this many. Chosen. Range: 4 to 16.
inline constexpr uint32_t kLossesMost = 8;
// Selections without a search for a path that was never tried, after a search that found none.
// Chosen: bounds the cost with 256 paths. Range: 16 to 256.
inline constexpr uint32_t kSearchEvery = 64;

}  // namespace two_choices

// --- shares of a plan (path/planned.h) ---
namespace planned {

// Bytes of the connection's payload for which a path that could not be used makes up, at most; more
// would be a burst on it. Chosen: 16 bursts. Range: 64 KiB to 16 MiB.
inline constexpr double kMostArrears_bytes = 1 << 20;
// Bytes in queues count this much more than those sent: a path whose queue is longer than the
// others' gets less than its share, the others more. Source: `bench/run plan --fabrics 20`, one
// ring, an uplink lost: strict shares (0) reach 0.97 of spraying, these 1.02. Range: 0.4 to 3.
inline constexpr double kQueueWeight = 0.8;

}  // namespace planned

// --- discovery of routes (path/discovery.h) ---
namespace discovery {

// Longest route in hops: above those of data centre fabrics (a three-level Clos has five). Range: 5
// to 16.
inline constexpr uint8_t kMostHops = 8;
// Between two probes. Chosen: routers limit ICMP. Range: 50 us to 1 ms.
inline constexpr Nanos kBetweenProbes = micros(100);
// How long a round waits for its answers: at first, and at most, four times as long after each
// round without an answer. Linux gives one answer a second once it limits them (icmp_ratelimit).
// Range: 5 to 100 ms; 1 to 5 s.
inline constexpr Nanos kFirstWait = millis(20);
inline constexpr Nanos kLongestWait = millis(1100);
// Rounds without an answer before discovery ends. Chosen. Range: 3 to 8.
inline constexpr uint8_t kIdleRounds = 5;
// Probes of one discovery, at most. Chosen. Range: 1,024 to 16,384.
inline constexpr uint32_t kMostProbes = 4096;

}  // namespace discovery

// --- pairs of NICs (path/nic_pairs.h) ---
namespace nic_pairs {

// Until a NIC pair that did not answer is probed again: at first, and at most. Chosen. Range: 10 to
// 500 ms; 1 to 60 s.
inline constexpr Nanos kFirstWait = millis(50);
inline constexpr Nanos kLongestWait = seconds(10);
// A group of paths that fails gets this time to return by itself before other NIC pairs are probed.
// Chosen: above a PTO with backoff. Range: 50 ms to 1 s.
inline constexpr Nanos kGrace = millis(200);
// Doublings of the first wait. Follows from the two waits.
inline constexpr uint8_t kMostAsked = 8;

}  // namespace nic_pairs

// --- pacing (congestion/pacer.h) ---
namespace pacer {

// A burst leaves at once with at most this many bytes, or what the rate sends in this time. The
// first is a UDP datagram's limit (GSO); the second is chosen. Range: a
// datagram to 64,000; 100 us to 1 ms.
inline constexpr Bytes kBurstMost = {64'000};
inline constexpr Nanos kBurstTimeMost = micros(500);
// How far behind its schedule a sender may catch up, at least. Timers of an ordinary host fire 50
// to 100 us late. Range: 50 us to 1 ms.
inline constexpr Nanos kCatchUp = micros(100);
// What a pause with nothing in flight saves up, so that a message after it is not spread over the
// round trip: RFC 9002, section 7.7, allows an initial window (10 packets; this is 7 of the
// largest). The window bounds it, too. In every pause it would fill small socket buffers. Found by
// `bench/run distance`. Range: a datagram to 128,000.
inline constexpr Bytes kSavedMost = {64'000};

}  // namespace pacer

// --- losses that are noise (congestion/loss_noise.h) ---
namespace loss_noise {

// Bytes, and time if that is more, that the estimate remembers: enough to see one loss in a
// thousand segments of 1,500 bytes, and at 100 Gb/s one in ten thousand of 9,000 bytes; little
// enough to notice a changed cable within seconds. Chosen.
// Range: 1 to 64 MiB; 50 ms to 1 s.
inline constexpr uint64_t kRemembered = 8u << 20;
inline constexpr Nanos kRememberedFor = millis(250);
// Bytes sent with room in the queues below which the estimate is zero. Chosen. Range: 16 to 256
// KiB.
inline constexpr uint64_t kEnough = 64u << 10;
// Bytes of loss that may be forgiven at once. Chosen: a count that is due to chance. Range: 64 KiB
// to 1 MiB.
inline constexpr uint64_t kBucket = 256u << 10;
// A queue that adds an eighth of the lowest round trip (slow_start::kMinRttDivisor), and at least
// slow_start::kHostNoise, is felt, and any above this. Chosen. Range: 200 us to 5 ms.
inline constexpr Nanos kFelt = millis(1);
// Loss rate, in millionths, up to which losses are forgiven from the second one on: overflowing
// queues lose more. With 125 MB in flight each false reduction costs CUBIC seconds. Range: 100 to
// 5,000.
inline constexpr uint32_t kFew = 1'000;
// After a reduction there is room for one round trip per this many segments of the window, and for
// at most kMostTrips. Chosen, for growth by a segment a round trip. Range: 16 to 64; 4 to 64.
inline constexpr uint64_t kSegmentsATrip = 32;
inline constexpr uint64_t kMostTrips = 16;
// Acknowledgements that make the longest round trip forgotten. Chosen. Range: 2^10 to 2^18.
inline constexpr int64_t kForget = 1 << 14;

}  // namespace loss_noise

// --- slow start (congestion/slow_start.h): HyStart++, RFC 9406 section 4.3 ---
namespace slow_start {

inline constexpr uint32_t kSamples = 8;              // N_RTT_SAMPLE
inline constexpr uint64_t kCarefulDivisor = 4;       // CSS_GROWTH_DIVISOR
inline constexpr uint32_t kCarefulRounds = 5;        // CSS_ROUNDS
inline constexpr int64_t kMinRttDivisor = 8;         // MIN_RTT_DIVISOR
inline constexpr Nanos kThresholdMost = millis(16);  // MAX_RTT_THRESH
// In place of MIN_RTT_THRESH (4 ms, for the Internet): what round trips of an idle fabric differ by
// when hosts work in batches, plus the time of a burst, at most kBurstMost: the pacing rate in slow
// start is at most twice the bottleneck's when the queue begins to grow. Range: 10 to 100 us; a
// datagram to 64,000 bytes; 100 us to 1 ms.
inline constexpr Nanos kHostNoise = micros(25);
inline constexpr Bytes kBurst = {64'000};
inline constexpr Nanos kBurstMost = micros(500);

}  // namespace slow_start

// --- cookies and sessions (security/cookie.h, security/session.h) ---
namespace security {

// A cookie is good for this time at least, and for twice as long at most. Chosen: above the time in
// which inits use one, and it bounds what is remembered against replays. Range: 2 to 60 s.
inline constexpr Nanos kCookieLifetime = seconds(10);
// Packets without a number that are remembered against replays; older ones are dropped. Chosen:
// four times the 64 of RFC 4303 section 3.4.3, since bursts overtake each other over many paths.
// Range: 64 to 1,024.
inline constexpr uint64_t kRemembered = 256;

}  // namespace security

// --- packets in a capture (packet_view.h) ---

// Headers of a merged packet that are looked at, so that no bytes make it slow. Chosen: half of the
// 128 segments that Linux merges. Range: 16 to 128.
inline constexpr size_t kMostCandidates = 64;

// --- CUBIC (congestion/cubic.h) ---
namespace cubic {

// Part of the window that a reduction keeps, in millionths: RFC 9438 section 4.6, and on a mark RFC
// 8511 section 3.
inline constexpr uint32_t kBeta = 700'000;
inline constexpr uint32_t kBetaOnMark = 850'000;
// Reno-friendly growth in segments a round trip, RFC 9438 section 4.3: 3 (1 - beta) / (1 + beta) =
// 9/17.
inline constexpr uint64_t kAlphaParts = 9;
inline constexpr uint64_t kAlphaOf = 17;

}  // namespace cubic

// --- DCTCP (congestion/dctcp.h) ---
namespace dctcp {

// Part of the window kept on loss, in millionths: RFC 8257 section 3.5, as without ECN (Reno).
inline constexpr uint32_t kKeepOnLoss = 500'000;
// The gain g is one in this: RFC 8257 section 3.3.
inline constexpr uint32_t kGain = 16;
// Bursts are at most this part of the window. A long burst marks its own tail and what follows it,
// but not its head: with bursts of 64 KB against a threshold of 64 KB one flow of eight took 4.4
// times its share in the bottleneck model (bottleneck_model_test.cc; Jain index 0.37), with a
// sixteenth of the window the index is above 0.99. Range: 8 to 32.
inline constexpr uint64_t kBurstDivisor = 16;

}  // namespace dctcp

// --- Swift (congestion/swift.h): Kumar et al., SIGCOMM 2020 ---
namespace swift {

// The queue that a flow may keep (the paper's base_target less the unloaded round trip): 25 us is
// the paper's scale for a 100 Gb/s fabric; one in kQueueDivisor of a round trip is what a decrease
// to below an empty queue needs to keep the link busy. Range: 10 to 100 us; 1 to 4.
inline constexpr Nanos kQueueLeast = micros(25);
inline constexpr int64_t kQueueDivisor = 2;
// The delay is the lowest of this many round trips, so that one late acknowledgement reduces
// nothing. Chosen. Range: 1 to 16.
inline constexpr size_t kRecent = 4;
// Flow scaling (section 3.2): the target rises with 1/sqrt(window) from fs_max_cwnd = 100 segments
// (the paper's) to fs_min_cwnd = 2 (the floor here), by up to fs_range, one in kScalingDivisor of
// the queue. More than a quarter cost fairness in the bottleneck model. Range: 2 to 8.
inline constexpr int64_t kScalingDivisor = 4;
inline constexpr uint64_t kInverseRootOne = 1 << 16;  // 1/sqrt(1), the unit of the two below
inline constexpr uint64_t kInverseRootLeast = 6'553;  // 1/sqrt(100)
inline constexpr uint64_t kInverseRootMost = 46'340;  // 1/sqrt(2)
// A decrease leaves this part, in thousandths, of what fills the path without a queue, so that a
// lowest round trip that was measured too high is corrected by a tenth at a time. Chosen. Range:
// 800 to 990.
inline constexpr uint64_t kKeepOfEmpty = 900;
// A decrease keeps at least this part of the window, in millionths. The paper's max_mdf keeps a
// half but stops before the queue is empty where the queue is longer than the round trip. Range:
// 100,000 to 500,000.
inline constexpr uint32_t kKeepLeast = 200'000;
inline constexpr uint32_t kKeepOnLoss = 500'000;  // Algorithm 1: 1 - max_mdf, max_mdf = 0.5
// Bursts are at most this part of the window, since a burst waits behind itself. In the bottleneck
// model a quarter lets a link run at 97%; unlimited bursts (64 KB at 10 Gb/s and 100 us) left it
// half idle. Range: 2 to 16.
inline constexpr uint64_t kBurstDivisor = 4;

}  // namespace swift

}  // namespace heddle::transport::params
