// Streams of cells, both ends as threads on one address: for the thread sanitizer, too.
#include "collectives/shared_memory/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace heddle::collectives {
namespace {

using ShortCells = std::array<Cell, kShortCells>;

TEST(Cells, AStreamHoldsSoManyAndNoMore) {
  const auto stream = std::make_unique<ShortCells>();
  CellWriter writer;
  CellReader reader;
  writer.attach(*stream);
  reader.attach(*stream);
  // Several laps, so that cells are used again.
  uint64_t written = 0;
  for (uint32_t lap = 0; lap < 5; ++lap) {
    EXPECT_EQ(reader.front(), nullptr);
    for (uint32_t i = 0; i < kShortCells; ++i) {
      ASSERT_NE(writer.room(), nullptr);
      EXPECT_EQ(writer.publish(), written++);
    }
    EXPECT_EQ(writer.room(), nullptr);
    EXPECT_FALSE(writer.was_read(written - kShortCells));
    for (uint32_t i = 0; i < kShortCells; ++i) {
      ASSERT_NE(reader.front(), nullptr);
      reader.pop();
      EXPECT_TRUE(writer.was_read(written - kShortCells + i));
      EXPECT_EQ(writer.was_read(written - 1), i + 1 == kShortCells);
    }
  }
}

TEST(Cells, CellsAreReadWholeAndInOrder) {
  constexpr uint64_t kCount = 20'000;
  const auto stream = std::make_unique<ShortCells>();
  std::thread other([&stream] {
    CellWriter writer;
    writer.attach(*stream);
    for (uint64_t i = 0; i < kCount; ++i) {
      Cell* cell = nullptr;
      while ((cell = writer.room()) == nullptr) std::this_thread::yield();
      cell->message_bytes = i;
      std::fill_n(cell->payload.begin(), i % 100, static_cast<std::byte>(i));
      writer.publish();
    }
  });
  CellReader reader;
  reader.attach(*stream);
  bool right = true;
  for (uint64_t i = 0; i < kCount; ++i) {
    const Cell* cell = nullptr;
    while ((cell = reader.front()) == nullptr) std::this_thread::yield();
    right &= cell->message_bytes == i;
    right &=
        std::all_of(cell->payload.begin(), cell->payload.begin() + static_cast<int64_t>(i % 100),
                    [i](std::byte byte) { return byte == static_cast<std::byte>(i); });
    reader.pop();
  }
  other.join();
  EXPECT_TRUE(right);
}

}  // namespace
}  // namespace heddle::collectives
