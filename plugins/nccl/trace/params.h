// Constants of judgement of the trace of NCCL's calls: unit, source, range. Most bound memory,
// since it is loaded into any program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::nccl::trace::params {

// Communicators of a process at once, and peers of each whose messages are counted apart (16 bytes
// each, from the first message on). Chosen. Range: 256 to 65,536 each.
inline constexpr size_t kMostCommunicators = 4096;
inline constexpr uint32_t kMostPeers = 1024;
// Devices of a process. Chosen: no host has more. Range: 16 to 256.
inline constexpr uint32_t kMostDevices = 64;
// Calls of a group, and communicators that it makes, that are remembered until it ends. Chosen: an
// all-to-all of 8,192 ranks. Range: 1,024 to 2^18.
inline constexpr size_t kMostCallsOfGroup = 16'384;
// Calls before the first communicator, which wait for a recording. Chosen: programs make few.
// Range: 8 to 1,024.
inline constexpr size_t kMostEarly = 64;
// Bytes of a chunk that a call is recorded with: of NCCL's Simple protocol, a quarter of its usual
// buffer of 4 MiB (recalled). Range: 2^16 to 2^22.
inline constexpr uint32_t kChunkBytes = 1u << 20;

}  // namespace heddle::nccl::trace::params
