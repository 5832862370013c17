// Constants of judgement of the server of metrics: unit, source, range.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace heddle::metrics::params {

// Bytes of a request's header. Chosen: as the servers of HTTP that are common. Range: 1 to 64 KiB.
inline constexpr uint32_t kMostRequestBytes = 8 << 10;
// Bytes of a client that sends on after its answer, which are read and ignored, so that it can read
// the answer. Chosen. Range: 4 KiB to 1 MiB.
inline constexpr size_t kMostIgnoredBytes = 64 << 10;
// Pause after a connection for which there was no descriptor. Chosen. Range: 10 ms to 1 s.
inline constexpr std::chrono::milliseconds kNoDescriptorPause(100);
// Bytes of the file of a token. Chosen: tokens of services have below 200. Range: 256 to 16,384.
inline constexpr size_t kMostTokenBytes = 1024;

}  // namespace heddle::metrics::params
