// Constants of judgement of PyTorch's backend: unit, source, range.
#pragma once

#include <chrono>

namespace heddle::pytorch::params {

// Between two looks at the answers of ranks (process_group_health.cc). Chosen: above a round trip.
// Range: 0.1 to 20 ms.
inline constexpr std::chrono::milliseconds kLooksEvery(1);
// A thread that ran tasks ends after this without one (side_threads.cc). Chosen: longer than a step
// of training. Range: 1 to 600 s.
inline constexpr std::chrono::seconds kIdle(10);
// Interval at which a waiting thread runs tasks, if the system allows no side threads (work.cc).
// Chosen. Range: 10 ms to 1 s.
inline constexpr std::chrono::milliseconds kHelpsEvery(100);

}  // namespace heddle::pytorch::params
