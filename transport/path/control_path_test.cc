// Which datagram paths control packets take.
#include "transport/path/control_path.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::transport {
namespace {

using events::PathState;

class ControlPathTest : public ::testing::Test {
 protected:
  ControlPathTest() {
    paths_.open(4, {2, 4096});
    control_.open(true);
  }
  std::vector<uint16_t> take(int packets) {
    std::vector<uint16_t> taken;
    for (int i = 0; i < packets; ++i) taken.push_back(control_.take(paths_));
    return taken;
  }

  PathSet paths_;
  ControlPath control_;
};

TEST_F(ControlPathTest, ActiveDatagramPathsTakeTurns) {
  paths_[2].health.enter(PathState::kSuspect);
  EXPECT_EQ(take(6), (std::vector<uint16_t>{1, 3, 0, 1, 3, 0}));
}

// VOPR, seed 380636: one path of each side worked again. It was probed, and the answers all took
// another one, which was dead.
TEST_F(ControlPathTest, WhereNoneIsActiveAllTakeTurns) {
  for (uint16_t id = 0; id < 4; ++id) paths_[id].health.enter(PathState::kProbing);
  EXPECT_EQ(take(5), (std::vector<uint16_t>{1, 2, 3, 0, 1}));
}

TEST_F(ControlPathTest, BeforeThePeerWasHeardThePathOfTheHandshakeIsKept) {
  control_.open(false);
  EXPECT_EQ(take(3), (std::vector<uint16_t>{0, 0, 0}));
  EXPECT_EQ(control_.next(paths_), 1);
  EXPECT_EQ(take(2), (std::vector<uint16_t>{1, 1}));
}

}  // namespace
}  // namespace heddle::transport
