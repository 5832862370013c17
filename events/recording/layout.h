// The layout of a recording's file: one per process, memory-mapped while it is written, so that the
// events outlive the process however it ends. A header, then a ring of blocks; each block belongs
// to one writer and holds records in time order. Little-endian; docs/reference/recording.md
// documents it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "events/params.h"

namespace heddle::events::recording {

inline constexpr std::array<char, 8> kMagic = {'h', 'e', 'd', 'd', 'l', 'e', 'R', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kHeaderBytes = 16 * 1024;
inline constexpr uint32_t kBlockBytes = params::writing::kBlockBytes;
inline constexpr uint32_t kBlockMagic = 0x6b6c4248;  // "HBlk"

// Followed by two texts: the schema (kSchemaText) and the identity, lines of "name=value".
struct FileHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t block_bytes;
  uint32_t blocks;  // size of the ring
  uint32_t schema_bytes;
  uint32_t identity_bytes;
  int64_t started_realtime_ns;
  std::atomic<uint64_t> dropped_events;  // overwritten by newer ones
  std::atomic<uint32_t> closed;          // 1: the process closed the recording
};

struct BlockHeader {
  uint32_t magic;
  uint32_t writer;             // writer number, and kLasting
  uint64_t sequence;           // position in the file's history, from 0
  int64_t base_ns;             // the block's start on the clock of the time stamps
  int64_t realtime_ns;         // CLOCK_REALTIME at the same moment
  std::atomic<uint32_t> used;  // bytes of complete records behind this header
  std::atomic<uint32_t> events;
};

// Flag of a block that is never overwritten: it holds events that readers need to interpret others.
inline constexpr uint32_t kLasting = 0x80000000;

// A record: kind (1 byte), nanoseconds since the previous record (4; for the first, since base_ns),
// then the schema's fields without padding. Where the difference does not fit, a jump record
// precedes it: kJump (1), the time (8).
inline constexpr uint8_t kJump = 255;
inline constexpr uint32_t kJumpBytes = 9;
inline constexpr uint32_t kRecordStartBytes = 5;

static_assert(sizeof(FileHeader) <= 64 && sizeof(BlockHeader) == 40);

}  // namespace heddle::events::recording
