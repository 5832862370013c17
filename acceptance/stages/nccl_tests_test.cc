// nccl-tests: what is read of a table of all_reduce_perf.
#include "acceptance/stages/nccl_tests.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

constexpr const char* kOutput =
    "# nThread 1 nGpus 1 minBytes 65536 maxBytes 524288 step: 8(factor) validation: 1\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)\n"
    "       65536         16384     float     sum      -1    80.00    0.82    1.43      0    79.00 "
    "   0.83    1.45      0\n"
    "      524288        131072     float     sum      -1   120.00    4.37    7.65      3   118.00 "
    "   4.44    7.77    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 4.57\n";

TEST(NcclTests, SizesAreThoseOfTheTable) {
  const std::vector<BenchSize> sizes = sizes_of_nccl_tests(kOutput);
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].bytes, 65'536U);
  EXPECT_EQ(sizes[0].count, 16'384U);
  EXPECT_EQ(sizes[0].type, "float");
  EXPECT_DOUBLE_EQ(sizes[1].time_us, 120);
  EXPECT_DOUBLE_EQ(sizes[1].algorithm_bits_per_s, 4.37 * 8e9);
  EXPECT_DOUBLE_EQ(sizes[1].bus_bits_per_s, 7.65 * 8e9);
  EXPECT_EQ(sizes[1].wrong, 3U);
}

TEST(NcclTests, AnErrorHasNoSizes) {
  EXPECT_TRUE(sizes_of_nccl_tests("h0: Test NCCL failure common.cu:1012 'unhandled'\n").empty());
}

}  // namespace
}  // namespace heddle::acceptance
