// The port of programs for torchrun: which are taken, and that one is chosen among the others.
#include "launch/ranks/master_port.h"

#include <gmock/gmock.h>

namespace heddle::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MasterPortTest, TakenPortsAreReadAsTheKernelTellsThem) {
  EXPECT_THAT(tcp_ports("  sl  local_address rem_address   st tx_queue rx_queue tr\n"
                        "   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000\n"
                        "   1: 00000000000000000000000000000000:0016 0000:0000 0A\n"),
              ElementsAre(22, 20'000));
  EXPECT_THAT(tcp_ports(""), IsEmpty());
  EXPECT_THAT(tcp_ports("nothing\n:\n::\n: :zz"), IsEmpty());
}

TEST(MasterPortTest, SeedsChooseDifferentPortsOfTheRange) {
  std::set<uint16_t> chosen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const uint16_t port = choose_master_port(seed);
    EXPECT_GE(port, 20'000);
    EXPECT_LT(port, 32'000);
    chosen.insert(port);
  }
  EXPECT_GT(chosen.size(), 15U);
}

}  // namespace
}  // namespace heddle::launch
