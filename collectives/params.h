// Parameters of judgement of collectives: each with its unit, where it comes from, and the range in
// which it makes sense. "Chosen" means that no measurement has told neighbouring values apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/nanos.h"

namespace heddle::collectives::params {

// --- choosing algorithms: the network of which nothing was measured ---

// Latency of a small message, ns. Two hosts on 10 Gbit/s, interrupt to interrupt: `heddle ping`.
// 1,000 to 1,000,000.
inline constexpr uint32_t kLatencyNs = 20'000;
// Of one that waits for a grant, ns: half a round trip more. 1 to 3 latencies.
inline constexpr uint32_t kLargeLatencyNs = 30'000;
// Of each further message that leaves together with another, ns. Chosen: a quarter of a latency.
// 0 to a latency.
inline constexpr uint32_t kFollowingNs = 5'000;
// A byte on the network, ps: 2.5 GB/s, one core's worth of UDP. 10 to 1,000,000.
inline constexpr uint32_t kSendPsPerByte = 400;
// A byte reduced, ps: 6.7 GB/s, floats summed from memory (`collectives_bench`). 20 to 1,000.
inline constexpr uint32_t kReducePsPerByte = 150;
// A message of up to so many bytes travels ahead of its grant. 1 KiB to 64 KiB.
inline constexpr uint64_t kSmallMessageBytes = 32 << 10;
// A piece in which data is forwarded and reduced, bytes: the setting `chunk_bytes`. 1 KiB to 16
// MiB.
inline constexpr uint32_t kChunkBytes = 256 << 10;

// --- measuring the network ---

// Column of CostTable::kSizes and the calls of each all-reduce there. The first call of more than
// two warms up; algorithms overtake each other between 16 and 256 KiB (`bench/run allreduce
// --algorithms`). Rounds 1 to 10.
inline constexpr std::array<std::pair<size_t, uint32_t>, 4> kShortRounds = {
    {{0, 6}, {3, 5}, {4, 4}, {5, 3}}};
// A communicator that measures ends it after about this, and its busiest rank sends no more.
// Chosen: what a user does not notice at the start of a run. 10 ms to 1 s; 1 to 64 MiB.
inline constexpr Nanos kShortTime = millis(250);
inline constexpr uint64_t kShortBytes = 16 << 20;
// Up to so many ranks an all-to-all is measured too, which connects all of them. 2 to 64; chosen.
inline constexpr uint32_t kMostExchanging = 16;
// `heddle tune`: calls of a row at a size are as many as move this, within these bounds. Chosen.
inline constexpr uint64_t kFullBytes = 16 << 20;
inline constexpr uint64_t kFullRoundsMin = 3;
inline constexpr uint64_t kFullRoundsMax = 20;
// The least part of a ring's largest call that bytes take where the measurement counts; below it
// ranks waited for cores and not for the network. 0.01 to 0.3; chosen.
inline constexpr double kSoundPart = 0.05;
// A call that took more than so many times its typical time was disturbed; a measurement of which
// more than such a part of the calls was, is not kept. 1.5 to 5; 0.1 to 0.5; chosen.
inline constexpr double kDisturbedTimes = 2;
inline constexpr double kDisturbedPart = 0.25;
// What no network is beyond, ns and ps.
inline constexpr uint64_t kLatencyNsMin = 100;
inline constexpr uint64_t kLatencyNsMax = 1'000'000'000;
inline constexpr double kSendPsPerByteMin = 10;
inline constexpr double kSendPsPerByteMax = 1e6;

}  // namespace heddle::collectives::params
