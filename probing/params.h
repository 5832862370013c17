// Constants of judgement of inferences: unit, source, reasonable range.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::probing::params {

// --- what hosts may report (documents.cc) ---

// Routers of a route: the hop limit of what is to arrive. Range: 16 to 255.
inline constexpr uint32_t kMostRouters = 64;
// Packets of a flow in one round: 10,000 deliveries are asked for at most. Range: 1e5 to 1e9.
inline constexpr uint64_t kMostPackets = 10'000'000;
inline constexpr uint64_t kMostPacketsOfHost = uint64_t{1} << 48;
// Trains of a flow in one round, and their rate: the times of two packets are 1 ns apart at least.
inline constexpr size_t kMostTrains = 1'000;
inline constexpr BitsPerSec kMostRate = {10'000'000'000'000'000};
// An answer is waited for below a second; clocks may be set meanwhile. Range: 10 s to 1 day.
inline constexpr Nanos kMostRoundTrip = seconds(3'600);
// A one-way delay has the difference of two clocks, of which one may stand at 1970. Differences of
// two are below what Nanos can have. Range: 60 to 140 years.
inline constexpr Nanos kMostClockDifference = {int64_t{1} << 61};

// --- what senders carry out (documents.cc) ---

// Of the probes of a host that expire at routers. Range: 1e5 to 1e7.
inline constexpr uint64_t kMostPacketsPerSecond = 1'000'000;
// Of a round, by the time that its packets take. Range: 1 day to 1 year.
inline constexpr Nanos kLongestRound = seconds(30LL * 24 * 3'600);

// --- loss (loss_places.cc) ---

// A share of lost packets that no link is blamed for. Chosen. Range: 1e-5 to 1e-3.
inline constexpr double kBackgroundLoss = 1e-4;
// By how much a lossy link must make the observations likelier (natural logarithm), beside the
// logarithm of the number of links: at 8, in one of 3,000 fabrics a clean one is blamed. Range: 5
// to 15.
inline constexpr double kLeastGain = 8;
// Links whose gain is less below the best one's are as good an explanation. At 3, the best is 20
// times as likely. Range: 1 to 5.
inline constexpr double kSameGain = 3;
// Probes of a hop from which on lost answers are evidence. Chosen. Range: 5 to 50.
inline constexpr uint32_t kLeastHopProbes = 8;
inline constexpr uint32_t kMostLossyLinks = 16;

// --- dead links (dead_links.cc) ---

// No flow takes a working next hop with less than this probability: then each of several candidates
// is dead. Chosen. Range: 1e-6 to 1e-2.
inline constexpr double kByChance = 1e-3;

// --- silent switches (routes.cc) ---

// Above this share of probes that switches did not answer which answer others, they limit their
// answers, so that a hop without one shows no other switch. Measured: Linux with icmp_ratelimit
// 1000 misses above 0.3, links that lose 8% cost 0.01. Range: 0.01 to 0.1.
inline constexpr double kLimitedShare = 0.02;

// --- rates (rate_places.cc) ---

// A link is slow below this share of its siblings' median. Measured: trains over shaped links of a
// lab stay above 0.9, on busy cores above 0.7. Range: 0.3 to 0.8.
inline constexpr double kSlowShare = 0.6;
// Rates within this factor are of the same bottleneck. Range: 1.1 to 1.5.
inline constexpr double kSameRate = 1.25;
// A train that left at less than this multiple of its rate was not slowed by the network. Chosen.
// Range: 1.1 to 2.
inline constexpr double kSenderShare = 1.3;
// Fewer siblings than these say nothing about what is usual.
inline constexpr uint32_t kLeastSiblings = 2;

// --- delays (delay_places.cc) ---

// Differences of delay below are not judged. Measured: on two busy cores the least of 20 one-way
// delays spread by 30 us. Range: 20 us (an idle machine) to 1 ms.
inline constexpr Nanos kLeastDelay = micros(100);
// Fewer flows than these are no evidence of a delayed link. Chosen. Range: 2 to 8.
inline constexpr size_t kLeastLateFlows = 3;

// --- missing links (missing_links.cc) ---

// Switches that share this part of their uplinks are siblings. Chosen. Range: 0.4 to 0.8.
inline constexpr double kSiblingShare = 0.5;

// --- tasks (next_tasks.cc) ---

// Trains over each direction of a link. Range: 2 to 16.
inline constexpr uint32_t kTrainsOfLink = 4;
// Flows of a suspicion that are looked at hop by hop, and packets of each. Range: 2 to 16; 50 to
// 500.
inline constexpr uint32_t kDoubtedFlows = 6;
inline constexpr uint32_t kDoubtPackets = 100;

// Packets of a train's second half that must have arrived for its rate. Chosen: a gap between two
// says little. Range: 4 to 32.
inline constexpr uint64_t kLeastTrainArrivals = 8;

}  // namespace heddle::probing::params
