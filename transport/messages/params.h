// Constants of judgement of messages: unit, source, range. The form is that of transport/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::transport::params::messages {

// What has arrived of a message is kept as at most this many intervals: a window of 64 MiB in
// bursts has a quarter of that. What would need more is not acknowledged. Chosen. Range: 1,024 to
// 65,536.
inline constexpr size_t kMostIntervals = 4096;
// A message that is over leaves memory for at most this many to the next in its place. Chosen: 4
// KiB. Range: 16 to 4,096.
inline constexpr size_t kIntervalsKept = 256;
// Messages of a channel that are counted when demand is advertised. Chosen: bounds the cost; more
// are counted as these leave. Range: 16 to 1,024.
inline constexpr size_t kBacklogMessages = 64;
// A message awaits writes of at most this many paths one by one, and then every write: a peer may
// name 255 paths for each of its messages. Chosen. Range: 4 to 255.
inline constexpr size_t kMostWrites = 16;

}  // namespace heddle::transport::params::messages
