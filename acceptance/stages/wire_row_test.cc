// Wire row: it passes where ports sent what all-reduces need, and no more than their rates.
#include "acceptance/stages/wire_row.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

Row row_of(double least, double most, double share) {
  return wire_row("4 hosts", {least, most, share},
                  {.bus_bits_per_s = 8e9, .least_bits_per_s = 5e9});
}

TEST(WireRow, PortsThatSendWhatIsNeededPass) {
  const Row row = row_of(8.5e9, 9e9, 0.9);
  EXPECT_EQ(row.grade, Grade::kOk);
  EXPECT_FALSE(is_information(row));
}

TEST(WireRow, APortAboveItsRateIsAWarning) {
  const Row row = row_of(8.5e9, 9e9, 1.8);
  EXPECT_EQ(row.grade, Grade::kWarn);
  EXPECT_FALSE(row.todo.empty());
}

TEST(WireRow, LessThanIsNeededIsAWarning) {
  const Row row =
      wire_row("4 hosts", {3e9, 3e9, 0.3}, {.bus_bits_per_s = 2.9e9, .least_bits_per_s = 5e9});
  EXPECT_EQ(row.grade, Grade::kWarn);
  EXPECT_FALSE(row.todo.empty());
}

// The kernel counts nothing of RDMA.
TEST(WireRow, PortsThatDoNotCountWhatWasSentAreNotJudged) {
  EXPECT_TRUE(is_information(row_of(2e6, 3e6, 0.001)));
}

TEST(WireRow, WithoutAKnownRateThereIsNoExpectation) {
  EXPECT_TRUE(is_information(wire_row("4 hosts", {8e9, 9e9, 0}, {.bus_bits_per_s = 8e9})));
}

}  // namespace
}  // namespace heddle::acceptance
