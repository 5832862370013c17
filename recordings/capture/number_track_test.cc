// Gaps, late and repeated numbers are distinguished, within a bound of memory.
#include "recordings/capture/number_track.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace heddle::recordings {
namespace {

TEST(NumberTrack, GapsAreFilledByLateNumbers) {
  NumberTrack track;
  for (const uint64_t number : {10, 11, 15, 12, 16}) track.see(number);
  EXPECT_EQ(track.gaps(), 1u);
  EXPECT_EQ(track.late(), 1u);
  EXPECT_EQ(track.missing(), 2u);
  EXPECT_EQ(track.see(12), Arrival::kRepeated);
  EXPECT_EQ(track.see(14), Arrival::kLate);
  EXPECT_EQ(track.see(13), Arrival::kLate);
  EXPECT_EQ(track.missing(), 0u);
  EXPECT_EQ(track.repeated(), 1u);
}

TEST(NumberTrack, AllowedJumpsAreNoGaps) {
  NumberTrack track;
  track.see(1);
  track.see(9, 7);
  EXPECT_EQ(track.gaps(), 0u);
  track.see(18, 7);
  EXPECT_EQ(track.gaps(), 1u);
}

TEST(NumberTrack, SkippedNumbersAreNeitherSeenNorMissing) {
  NumberTrack track;
  track.see(1);
  track.skip(3);
  EXPECT_EQ(track.see(7), Arrival::kNew);
  EXPECT_EQ(track.skipped(), 3u);
  EXPECT_EQ(track.gaps(), 1u);
  EXPECT_EQ(track.missing(), 2u);
  EXPECT_EQ(track.see(5), Arrival::kLate);
}

// Whatever the order: what is missing, is missing.
TEST(NumberTrack, AgreesWithASet) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint64_t> numbers;
    for (uint64_t each = 1; each <= 40; ++each) {
      for (uint64_t copies = random() % 3; copies > 0; --copies) numbers.push_back(each);
    }
    numbers.insert(numbers.begin(), 0);
    // Near their places, so that no gap is closed for its age.
    for (size_t i = 1; i + 6 < numbers.size(); ++i) {
      std::swap(numbers[i], numbers[i + random() % 6]);
    }
    NumberTrack track;
    std::set<uint64_t> seen;
    for (const uint64_t each : numbers) {
      const Arrival arrival = track.see(each);
      EXPECT_EQ(arrival == Arrival::kRepeated, seen.contains(each));
      seen.insert(each);
    }
    EXPECT_EQ(track.missing(), *seen.rbegin() + 1 - seen.size());
    EXPECT_EQ(track.repeated(), numbers.size() - seen.size());
  }
}

TEST(NumberTrack, OldGapsStayMissing) {
  NumberTrack track;
  for (uint64_t each = 0; each < 3 * NumberTrack::kMostGaps; ++each) track.see(each * 2);
  EXPECT_EQ(track.see(1), Arrival::kRepeated);  // too old to be known
  EXPECT_EQ(track.missing(), 3 * NumberTrack::kMostGaps - 1);
}

}  // namespace
}  // namespace heddle::recordings
