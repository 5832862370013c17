// What users type is understood or refused with a reason, and numbers read well.
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(ParseSize, TakesWhatPeopleType) {
  EXPECT_EQ(parse_size("64")->count, 64U);
  EXPECT_EQ(parse_size("64B")->count, 64U);
  EXPECT_EQ(parse_size("4K")->count, 4096U);
  EXPECT_EQ(parse_size("4k")->count, 4096U);
  EXPECT_EQ(parse_size("4KiB")->count, 4096U);
  EXPECT_EQ(parse_size("4 KiB")->count, 4096U);
  EXPECT_EQ(parse_size("4kb")->count, 4000U);
  EXPECT_EQ(parse_size("1M")->count, 1U << 20);
  EXPECT_EQ(parse_size("1G")->count, 1U << 30);
  EXPECT_EQ(parse_size("0")->count, 0U);
}

TEST(ParseSize, RefusesTheRest) {
  for (const char* text :
       {"", "x", "-1", "1.5M", "4Q", "4K4", " 4", "99999999999999999999", "99999999999999999G"}) {
    const Result<Bytes> size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(size.error().why.empty());
  }
}

TEST(ParseMessageSize, OneByteToOneGibibyte) {
  EXPECT_TRUE(parse_message_size("1"));
  EXPECT_TRUE(parse_message_size("1G"));
  EXPECT_FALSE(parse_message_size("0"));
  EXPECT_FALSE(parse_message_size("1073741825"));
  EXPECT_FALSE(parse_message_size("2G"));
}

TEST(ParseDuration, CountsSecondsWhereNoUnitIsGiven) {
  EXPECT_EQ(parse_duration("5")->count, 5'000'000'000);
  EXPECT_EQ(parse_duration("0.5")->count, 500'000'000);
  EXPECT_EQ(parse_duration("500ms")->count, 500'000'000);
  EXPECT_EQ(parse_duration("500 ms")->count, 500'000'000);
  EXPECT_EQ(parse_duration("2m")->count, 120'000'000'000);
  EXPECT_EQ(parse_duration("1h")->count, 3'600'000'000'000);
  EXPECT_EQ(parse_duration("48h")->count, 172'800'000'000'000);
  EXPECT_EQ(parse_duration("0")->count, 0);
  for (const char* text : {"", "-1", "x", "5d", "9000h", "nan", "inf", "1e30", "5  s"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Texts, ReadWell) {
  EXPECT_EQ(size_text(64), "64 B");
  EXPECT_EQ(size_text(1 << 20), "1 MiB");
  EXPECT_EQ(size_text(1500), "1500 B");
  EXPECT_EQ(size_text(24 << 10), "24 KiB");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(duration_text(nanos(12'340)), "12.3 us");
  EXPECT_EQ(duration_text(nanos(999'600)), "1.00 ms");
  EXPECT_EQ(duration_text(seconds(2)), "2.00 s");
  EXPECT_EQ(rate_text(36.21e9), "36.2 Gb/s");
  EXPECT_EQ(rate_text(812.3e6), "812 Mb/s");
  EXPECT_EQ(rate_text(400e9), "400 Gb/s");
  EXPECT_EQ(rate_text(1.6e12), "1.60 Tb/s");
  EXPECT_EQ(rate_text(999.4e9), "999 Gb/s");
  EXPECT_EQ(rate_text(12e3), "12.0 kb/s");
  EXPECT_EQ(byte_rate_text(36.24e9), "4.53 GB/s");
}

TEST(Counted, OneIsNoPlural) {
  EXPECT_EQ(counted_text(0, "round"), "0 rounds");
  EXPECT_EQ(counted_text(1, "round"), "1 round");
  EXPECT_EQ(counted_text(1234, "round"), "1,234 rounds");
}

TEST(RefuseWholeNumber, TakesNoneOutsideTheRange) {
  for (const char* good : {"0", "7", "18446744073709551615"}) {
    EXPECT_EQ(refuse_whole_number(good, 0, UINT64_MAX), "") << good;
  }
  for (const char* bad : {"-1", "", "1.5", "7x", " 7", "+7", "18446744073709551616"}) {
    EXPECT_NE(refuse_whole_number(bad, 0, UINT64_MAX), "") << bad;
  }
  EXPECT_EQ(refuse_whole_number("10", 0, 10), "");
  EXPECT_EQ(refuse_whole_number("11", 1, 10), "'11' is not a whole number from 1 to 10");
  EXPECT_EQ(refuse_whole_number("0", 1, 10), "'0' is not a whole number from 1 to 10");
}

}  // namespace
}  // namespace heddle
