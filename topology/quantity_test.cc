// Quantities are exact, and their unit is mandatory.
#include "topology/quantity.h"

#include <gtest/gtest.h>

namespace heddle::topology {
namespace {

TEST(Quantity, NumbersWithUnitsAreExact) {
  EXPECT_EQ(parse_rate("200Mbit/s"), megabits_per_s(200));
  EXPECT_EQ(parse_rate("0.2 Gbit/s"), megabits_per_s(200));
  EXPECT_EQ(parse_rate("1Tbit/s"), gigabits_per_s(1'000));
  EXPECT_EQ(parse_rate("400 Gb/s"), gigabits_per_s(400));  // as heddle prints rates
  EXPECT_EQ(parse_rate("1.6T"), gigabits_per_s(1'600));
  EXPECT_EQ(parse_rate("3.2 Tb/s"), gigabits_per_s(3'200));
  EXPECT_EQ(parse_rate("400G"), gigabits_per_s(400));
  EXPECT_EQ(parse_rate("100M"), megabits_per_s(100));
  EXPECT_EQ(parse_rate("100Tbit/s"), gigabits_per_s(100'000));
  EXPECT_EQ(parse_rate("100000000000000bit/s"), gigabits_per_s(100'000));
  EXPECT_EQ(parse_bytes("125KB"), Bytes{125'000});
  EXPECT_EQ(parse_bytes("1.5KiB"), Bytes{1'536});
  EXPECT_EQ(parse_time("1.5ms"), micros(1'500));
  EXPECT_EQ(parse_time("0s"), Nanos{});
  EXPECT_EQ(parse_share("0.0001%"), 1u);
  EXPECT_EQ(parse_share("100%"), 1'000'000u);
}

TEST(Quantity, InvalidQuantitiesAreRefused) {
  for (const char* const text :
       {"", "200", "Mbit/s", "200Mbit", "-1Mbit/s", "1.Mbit/s", ".5Mbit/s", "999bit/s",
        "100.1Tbit/s", "200T/s", "1.6t", "200MB/s", "1e3Mbit/s", "99999999999999999999bit/s",
        "0.00000000000000000001Mbit/s", "200Mbit/s "}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  EXPECT_FALSE(parse_bytes("1.5B"));
  EXPECT_FALSE(parse_bytes("2000GB"));
  EXPECT_FALSE(parse_time("0.5ns"));
  EXPECT_FALSE(parse_time("1h"));
  EXPECT_FALSE(parse_share("101%"));
  EXPECT_FALSE(parse_share("0.00001%"));
}

}  // namespace
}  // namespace heddle::topology
