// Processor time: a share, whatever this process does.
#include "acceptance/processor_time.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(ProcessorTime, IsAShare) {
  const ProcessorTime time;
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(time.others_share(), 0);
    EXPECT_LE(time.others_share(), 1);
  }
}

TEST(ProcessorTime, TimeOfOwnChildrenIsNotCountedAsOthers) {
  const ProcessorTime time;
  EXPECT_EQ(time.others_share(1e6), 0);
}

}  // namespace
}  // namespace heddle::acceptance
