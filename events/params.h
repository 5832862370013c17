// Constants of judgement of recordings and of the clock of their events, by the part that uses
// them: unit, source, range. The file's format is in recording/layout.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::events::params {

// Blocks of a recording, written or read. Chosen: 64 GiB of blocks, the largest recording
// of `heddle record`. Range: 2^14 to 2^24.
inline constexpr uint64_t kMostBlocks = 1 << 20;

// --- recordings that are written (recording.cc, recording/) ---
namespace writing {

// Bytes of a block, which its file's header has (recording/layout.h). Chosen: some thousand events;
// each writer holds one. Range: 4 to 256 KiB, what readers take.
inline constexpr uint32_t kBlockBytes = 64 * 1024;
// Blocks of a recording at least. Chosen: one that is written, and one that stays. Range: 2 to 64.
inline constexpr uint32_t kLeastBlocks = 2;
// A writer without a block tries again to get one after this number of events. Chosen: a try looks
// at all blocks. Range: 64 to 65,536.
inline constexpr uint32_t kAskedAgainAfter = 1024;
// Tries to read two clocks at once, and the time between two readings of the one, in ns, with which
// no further try is made: the thread was not interrupted. Chosen. Range: 2 to 16; 100 to 2,000.
inline constexpr int kClockTries = 4;
inline constexpr int64_t kAtOnceNs = 500;
// Blocks that are prepared ahead of the writers (recording/room_ahead.cc). Chosen: 1 MiB, about a
// tenth of a second of a busy process's events. Range: 4 to 256.
inline constexpr uint32_t kBlocksAhead = 16;
// Blocks that one call prepares. Chosen: smaller calls cost more per block. Range: 1 to
// kBlocksAhead.
inline constexpr uint32_t kBlocksTogether = 8;

}  // namespace writing

// --- recordings that are read (recording_reader.cc) ---
namespace reading {

// Bytes of a block. Chosen: with kMostWriters they bound what a file can make a reader hold, one
// block of each writer: a sparse file may name many. Of smaller blocks a file could have many
// millions, each of which is looked at. Range: 512 to 65,536; kBlockBytes to 1 MiB; 256 to 65,536.
inline constexpr uint32_t kLeastBlockBytes = 4096;
inline constexpr uint32_t kMostBlockBytes = 4 * writing::kBlockBytes;
inline constexpr size_t kMostWriters = 4096;
// Every this many refreshes all blocks are read: of a damaged file any block may change. Chosen.
// Range: 16 to 1,024.
inline constexpr uint32_t kRefreshesToReadAll = 64;

}  // namespace reading

// --- the processor's counter as a clock (stamp_clock.cc) ---
namespace stamps {

// A comparison of counter and clock is valid for this time. Chosen: a clock that is slewed by 500
// millionths, the most of adjtimex(2), is 5 us off by then. Range: 1 to 16 ms: times kMostTicks it
// stays below 2^64.
inline constexpr Nanos kLooksApart = millis(10);
// Comparisons that took longer are too inaccurate and are rejected. Chosen: it bounds the error of
// a time. Range: 500 ns to 10 us.
inline constexpr Nanos kLongestLook = micros(2);
// A comparison that took longer than this may have been interrupted: it is repeated, up to this
// number of tries, and the fastest counts. Chosen: several times the two clock reads of a
// comparison, 21 to 27 ns each. Range: 100 ns to 1 us; 2 to 10.
inline constexpr Nanos kQuickLook = nanos(200);
inline constexpr int kLookTries = 3;
// Once known, the scale is measured over one to two of these spans. Chosen: errors of the two
// comparisons at its ends count for little. Range: 20 ms to half of kLongestSpan.
inline constexpr Nanos kScaleSpan = millis(100);
// After a longer gap the measurement restarts; products of ticks and scale stay far below 2^64.
// Chosen. Range: 500 ms to 4 s.
inline constexpr Nanos kLongestSpan = seconds(2);
// More ticks of a span are of a counter that jumped: they would mean 500 GHz. Range: 2^36 to 2^40.
inline constexpr uint64_t kMostTicks = uint64_t{1} << 40;
// A scale that changes by more than this part of it, a thousandth, belongs to another counter: a
// virtual machine migrated. Chosen: twice what adjtimex(2) slews. Range: 100 to 1,500.
inline constexpr uint64_t kScaleChange = 1000;
// After this many slow comparisons in a row the counter is not used. Chosen. Range: 10 to 10,000.
inline constexpr uint32_t kMostFailures = 100;

}  // namespace stamps

}  // namespace heddle::events::params
