// How an echo server's receives meet a client's end marks.
#include "measure/echo.h"

#include <gtest/gtest.h>

namespace heddle::measure {
namespace {

// `perf lat` and `ping` stood still for ever where acknowledgements were lost: with three echoes
// unacknowledged a server had one receive posted; it took the first end mark with it and posted no
// receive for the second.
TEST(Echo, EveryEndMarkFindsAReceiveWhateverEchoesAreUnacknowledged) {
  for (uint32_t unacknowledged = 0; unacknowledged <= kEchoSlots; ++unacknowledged) {
    size_t echoes = unacknowledged;
    size_t receives = 0;
    uint32_t marks = 0;
    // Acknowledgements come as late as they can: when nothing else can go on.
    for (int step = 0; step < 100 && marks < kEchoWindow; ++step) {
      receives += echo_receives_due(receives, echoes, marks);
      ASSERT_LE(receives + echoes, kEchoSlots);
      if (receives > 0) {
        --receives;
        ++marks;
        ++echoes;
      } else {
        ASSERT_GT(echoes, 0u) << "nothing can happen any more";
        --echoes;
      }
    }
    EXPECT_EQ(marks, kEchoWindow) << unacknowledged << " echoes were unacknowledged";
    EXPECT_EQ(echo_receives_due(receives, echoes, marks), 0u);
  }
}

TEST(Echo, AWindowOfReceivesIsPostedWhileSlotsAreFree) {
  EXPECT_EQ(echo_receives_due(0, 0, 0), kEchoWindow);
  EXPECT_EQ(echo_receives_due(0, kEchoSlots - 1, 0), 1u);
  EXPECT_EQ(echo_receives_due(0, kEchoSlots, 0), 0u);
}

}  // namespace
}  // namespace heddle::measure
