// No allocations in the steady state, counted by this test program's operator new.
#include <gtest/gtest.h>

#include <memory>

#include "datapath/udp/testing/allocations.h"
#include "datapath/udp/testing/ends.h"

namespace heddle::datapath {
namespace {

TEST(UdpAllocationTest, SendingReceivingWaitingAndErrorsAllocateNothing) {
  for (const Offload offload : {Offload::kAuto, Offload::kOff}) {
    UdpOptions options;
    options.bind = "127.0.0.1";
    options.paths = 4;
    options.segmentation = options.coalescing = offload;
    Result<std::unique_ptr<Ends>> opened = Ends::open(options);
    ASSERT_TRUE(opened.has_value());
    Ends& ends = **opened;
    transport::Address nobody;
    {
      auto gone = open_udp(options);
      ASSERT_TRUE(gone.has_value());
      nobody = (*gone)->local_address();
    }
    uint64_t before = 0;
    for (int round = 0; round < 40; ++round) {
      if (round == 10) before = allocations();
      transport::TxBurst row = ends.row(1, 6, 8'000);
      row.path = static_cast<uint16_t>(round % 4);
      row.ecn_capable = round % 2 == 0;
      ASSERT_TRUE(ends.send(row));
      ASSERT_EQ(ends.receive_all(6), 6u);
      row = ends.row(1, 1, 10);
      row.to = nobody;
      ASSERT_TRUE(ends.send(row));
      transport::NetworkError error;
      ASSERT_TRUE(ends.error(error));
      ends.a().wake();
      ends.a().wait(ends.a().now() + millis(1));
    }
    EXPECT_GT(before, 0u) << "nothing is counted";
    EXPECT_EQ(allocations() - before, 0u);
  }
}

}  // namespace
}  // namespace heddle::datapath
