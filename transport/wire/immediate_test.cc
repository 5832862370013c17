// Behaviour of immediates: every field survives, and numbers are recovered from their low bits.
#include "transport/wire/immediate.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

TEST(ImmediateTest, EveryFieldSurvives) {
  for (const bool last : {false, true}) {
    const Immediate read = unpack(pack(Immediate{511, 254, Immediate::kMaxChunks - 1, last}));
    EXPECT_EQ(read.number_low, 511u);
    EXPECT_EQ(read.slot, 254);
    EXPECT_EQ(read.chunk, Immediate::kMaxChunks - 1);
    EXPECT_EQ(read.last, last);
  }
  EXPECT_EQ(pack(Immediate{}), 0u);
}

TEST(ImmediateTest, ANumberIsFoundAboveTheLargestSeen) {
  for (const uint64_t largest : {UINT64_C(0), UINT64_C(1), UINT64_C(510), UINT64_C(511),
                                 UINT64_C(512), (UINT64_C(1) << 40) - 3}) {
    for (uint64_t ahead = 1; ahead <= Immediate::kMaxAhead; ++ahead) {
      const uint64_t number = largest + ahead;
      const Immediate read =
          unpack(pack(Immediate{static_cast<uint32_t>(number & 511), 0, 0, false}));
      EXPECT_EQ(number_after(largest, read.number_low), number);
    }
  }
}

}  // namespace
}  // namespace heddle::transport
