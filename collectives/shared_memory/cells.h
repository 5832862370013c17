// Cells: the memory that two ranks of a host share, and the two ends of a ring of cells. Each
// stream (a channel and a direction) has its own rings, so that no message waits behind one of
// another channel: a short ring for the first cell of every message, and a long one for the payload
// of long messages. So small messages stay in the cache, and a rank can write half a MiB of a long
// one before the other reads. A cell has its state, the head of a message and some payload side by
// side: a waiting rank polls one cache line. After Vyukov's bounded queue, with one writer and one
// reader. Data of the other side is not trusted: the reader checks sizes and counts positions.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "collectives/call.h"
#include "collectives/params.h"

namespace heddle::collectives {

using params::kCellBytes;
using params::kLongCells;
using params::kShortCells;
inline constexpr uint32_t kSharedChannels = 18;  // of a pair of ranks

struct alignas(64) Cell {
  // 2 laps: free in that lap; one more: filled. The writer fills it, the reader frees it.
  std::atomic<uint32_t> turn{0};
  std::atomic<uint32_t> here_bytes{0};     // payload in this cell
  std::atomic<uint64_t> message_bytes{0};  // of the whole message
  std::atomic<uint64_t> address{0};        // not 0: the payload lies there in the writer's memory
  std::atomic<uint8_t> begins{0};          // the first cell of its message
  std::atomic<uint8_t> signs{0};           // with a signature
  std::array<std::byte, Signature::kBytes> signature{};
  alignas(64) std::array<std::byte, kCellBytes> payload;
};

// What one of the two says beside its cells. Only it writes these, but for `sleeping`.
struct alignas(64) Side {
  std::atomic<uint64_t> events{0};  // times that there was something for the other
  std::atomic<uint32_t> closed{0};  // its calls have ended: what it offered holds no longer
  std::atomic<uint32_t> pulls{0};   // it can read the other's memory
  alignas(64) std::atomic<uint32_t> blocked{0};   // not 0: it waits for a free cell
  alignas(64) std::atomic<uint32_t> sleeping{0};  // wake it; the process that does clears this
};

struct Stream {
  std::array<Cell, kShortCells> cells;
  std::array<Cell, kLongCells> long_cells;
};
using Streams = std::array<Stream, kSharedChannels>;

// All zeros is its initial state, so it needs no initialization.
struct SegmentLayout {
  std::array<Side, 2> sides;
  std::array<Streams, 2> streams;  // by the side that writes
};

// As docs/reference/collectives.md says.
static_assert(sizeof(SegmentLayout) < 21'500'000);

// Cells that are used in turn, a power of two of them.
class CellRing {
 public:
  CellRing() = default;
  explicit CellRing(std::span<Cell> cells)
      : cells_(cells.data()),
        mask_(cells.size() - 1),
        shift_(static_cast<uint32_t>(std::countr_zero(cells.size()))) {
    CHECK(std::has_single_bit(cells.size()));
  }
  Cell& at(uint64_t number) const { return cells_[number & mask_]; }
  uint32_t lap(uint64_t number) const { return static_cast<uint32_t>(number >> shift_); }
  uint64_t size() const { return mask_ + 1; }

 private:
  Cell* cells_ = nullptr;
  uint64_t mask_ = 0;
  uint32_t shift_ = 0;
};

// The writing end of a ring.
class CellWriter {
 public:
  void attach(std::span<Cell> cells) { ring_ = CellRing(cells); }

  // The next cell; null: it is not free yet.
  Cell* room() const {
    Cell& cell = ring_.at(next_);
    return cell.turn.load(std::memory_order_acquire) == 2 * ring_.lap(next_) ? &cell : nullptr;
  }
  // room() is filled. Returns its number.
  uint64_t publish() {
    ring_.at(next_).turn.store(2 * ring_.lap(next_) + 1, std::memory_order_release);
    return next_++;
  }
  // The reader is through with this cell.
  bool was_read(uint64_t number) const {
    if (number + ring_.size() < next_) return true;  // it has been filled again
    const uint32_t turn = ring_.at(number).turn.load(std::memory_order_acquire);
    return turn == 2 * ring_.lap(number) + 2;
  }

 private:
  CellRing ring_;
  uint64_t next_ = 0;
};

// The reading end.
class CellReader {
 public:
  void attach(std::span<Cell> cells) { ring_ = CellRing(cells); }

  // The next cell; null: it is not filled yet.
  const Cell* front() const {
    const Cell& cell = ring_.at(next_);
    const uint32_t filled = 2 * ring_.lap(next_) + 1;
    return cell.turn.load(std::memory_order_acquire) == filled ? &cell : nullptr;
  }
  // The same, when it was filled: the other side may take that back at any time.
  const Cell& opened() const { return ring_.at(next_); }
  // Gives front() back.
  void pop() {
    ring_.at(next_).turn.store(2 * ring_.lap(next_) + 2, std::memory_order_release);
    ++next_;
  }

 private:
  CellRing ring_;
  uint64_t next_ = 0;
};

}  // namespace heddle::collectives
