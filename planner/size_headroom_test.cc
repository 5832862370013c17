// PFC headroom: by hand for one port, and how it depends on each value.
#include "planner/size_headroom.h"

#include <gtest/gtest.h>

namespace heddle::planner {
namespace {

double headroom_of(const HeadroomQuestion& question) {
  const Result<Answer> answer = size_headroom(question);
  EXPECT_TRUE(answer.has_value());
  return answer ? answer->figure("headroom_bytes").value : 0;
}

// 400 Gb/s over 100 m, frames of 9,216 bytes: the cable holds 2 x 100 m x 5 ns/m x 400 Gb/s =
// 400,000 bits; two frames with preamble and gap are 2 x (73,728 + 160) = 147,776, a pause 672, the
// response 905 x 512 = 463,360. Together 1,011,808 bits = 126,476 bytes; 32 ports 4,047,232.
TEST(SizeHeadroom, AddsUpCableFramesAndResponse) {
  const Result<Answer> answer = size_headroom({});
  ASSERT_TRUE(answer.has_value());
  EXPECT_DOUBLE_EQ(answer->figure("headroom_bytes").value, 126'476);
  EXPECT_DOUBLE_EQ(answer->figure("pool_bytes").value, 4'047'232);
  EXPECT_TRUE(answer->sound);
}

TEST(SizeHeadroom, GrowsWithEachOfItsTerms) {
  for (double meters = 1; meters < 100'000; meters *= 10) {
    const HeadroomQuestion question{.meters = meters};
    const double bytes = headroom_of(question);
    HeadroomQuestion other = question;
    other.meters *= 2;
    // Twice the cable: as much again as its round trip holds.
    EXPECT_NEAR(headroom_of(other) - bytes, 2 * meters * 5e-9 * 400e9 / 8, 1);
    other = question;
    other.lossless_frame_bytes += 100;
    EXPECT_DOUBLE_EQ(headroom_of(other) - bytes, 100);
    other = question;
    other.interface_bits = 8'000;
    EXPECT_DOUBLE_EQ(headroom_of(other) - bytes, 1'000);
    other = question;
    other.response_bits = 0;
    EXPECT_DOUBLE_EQ(bytes - headroom_of(other), 57'920);
  }
}

TEST(SizeHeadroom, ABufferThatIsTooSmallIsNotSound) {
  const Result<Answer> answer = size_headroom({.buffer_bytes = 1e6});
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(answer->sound);
  EXPECT_NE(answer->advice.front().find("3,047,232 bytes more"), std::string::npos);
  EXPECT_TRUE(size_headroom({.buffer_bytes = 1e7})->sound);
}

TEST(SizeHeadroom, RatesWithoutAKnownResponseAskForIt) {
  const Result<Answer> answer = size_headroom({.link_bits_per_s = 123e9});
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().todo.find("--response-bits"), std::string::npos);
  EXPECT_TRUE(size_headroom({.link_bits_per_s = 123e9, .response_bits = 1'000}).has_value());
}

}  // namespace
}  // namespace heddle::planner
