// AnonymousMemory: pages start as zeros and return to the system.
#include "base/anonymous_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>
#include <vector>

namespace heddle {
namespace {

bool is_mapped(const std::byte* page) {
  unsigned char state = 0;
  return mincore(const_cast<std::byte*>(page), 1, &state) == 0;
}

TEST(AnonymousMemory, HoldsZerosThatCanBeWritten) {
  AnonymousMemory memory(Bytes{3});
  ASSERT_NE(memory.start(), nullptr);
  EXPECT_EQ(memory.bytes(), 3u);
  EXPECT_EQ(memory.start()[2], std::byte{0});
  memory.start()[2] = std::byte{7};
  EXPECT_EQ(memory.start()[2], std::byte{7});
}

TEST(AnonymousMemory, HoldsNothingForZeroBytes) {
  EXPECT_EQ(AnonymousMemory(Bytes{0}).start(), nullptr);
}

// Regression: the memory that a server held for tests of dead clients grew by the hour. Freed
// blocks of a MiB stayed in the C library's heap, with gaps too small for the next block.
TEST(AnonymousMemory, ReturnsToTheSystemInAnyOrder) {
  std::vector<AnonymousMemory> all;
  for (int i = 0; i < 8; ++i) {
    all.emplace_back(Bytes{size_t{1} << 20});
    all.back().start()[0] = std::byte{1};
  }
  const std::byte* const start = all[3].start();
  ASSERT_TRUE(is_mapped(start));
  all.erase(all.begin() + 3);  // moves the elements behind it
  EXPECT_FALSE(is_mapped(start));
  EXPECT_TRUE(is_mapped(all[3].start()));
}

TEST(AnonymousMemory, MovesLeaveTheSourceEmpty) {
  AnonymousMemory from(Bytes{4096});
  std::byte* const start = from.start();
  AnonymousMemory to(std::move(from));
  EXPECT_EQ(to.start(), start);
  from = AnonymousMemory(Bytes{4096});
  to = std::move(from);
  EXPECT_TRUE(is_mapped(to.start()));
}

}  // namespace
}  // namespace heddle
