// The layout of a recording's file: one of a process, mapped into memory while it is written, so
// that what was recorded outlives the process however that ends. A header, then a ring of blocks;
// each block belongs to one writer and holds records in the order of their times. Little-endian;
// docs/reference/recording.md describes it for others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace heddle::events::recording {

inline constexpr std::array<char, 8> kMagic = {'h', 'e', 'd', 'd', 'l', 'e', 'R', '\n'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kHeaderBytes = 16 * 1024;
inline constexpr uint32_t kBlockBytes = 64 * 1024;
inline constexpr uint32_t kBlockMagic = 0x6b6c4248;  // "HBlk"

// Texts follow it: the schema (kSchemaText), then the identity, lines of "name=value".
struct FileHeader {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t header_bytes;
  uint32_t block_bytes;
  uint32_t blocks;  // at most
  uint32_t schema_bytes;
  uint32_t identity_bytes;
  int64_t started_realtime_ns;
  std::atomic<uint64_t> dropped_events;  // overwritten by newer ones
  std::atomic<uint32_t> closed;          // 1: its process ended in good order
};

struct BlockHeader {
  uint32_t magic;
  uint32_t writer;             // and kLasting
  uint64_t sequence;           // of the file, from 0
  int64_t base_ns;             // the clock that times are of, when the block began
  int64_t realtime_ns;         // CLOCK_REALTIME at the same moment
  std::atomic<uint32_t> used;  // bytes of whole records behind this header
  std::atomic<uint32_t> events;
};

// Of a block that is not overwritten: it holds what the others cannot be understood without.
inline constexpr uint32_t kLasting = 0x80000000;

// A record: kind 1, nanoseconds since the record before it (the first: since base_ns) 4, then the
// fields of the schema without padding. Where the difference does not fit, a jump comes before:
// kJump 1, the time 8.
inline constexpr uint8_t kJump = 255;
inline constexpr uint32_t kJumpBytes = 9;
inline constexpr uint32_t kRecordStartBytes = 5;

static_assert(sizeof(FileHeader) <= 64 && sizeof(BlockHeader) == 40);

}  // namespace heddle::events::recording
