// A verbs datapath whose device fails: it goes on as one of datagrams.
#include "datapath/verbs/verbs_datapath.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "datapath/rdma_devices.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

TEST(VerbsDatapathTest, AFailedDeviceEndsNoWait) {
  FakeVerbs fake;
  RdmaChoice choice;
  choice.device = "fake0";
  choice.gid.address = *parse_rdma_address("127.0.0.1");
  const auto opened = VerbsDatapath::open({.paths = 1, .chunk_paths = 1}, choice, fake.library());
  ASSERT_TRUE(opened) << opened.error().message();
  VerbsDatapath& datapath = **opened;
  fake.report(IBV_EVENT_DEVICE_FATAL);
  datapath.wait(datapath.now() + seconds(10));
  datapath.serve();
  const Nanos end = datapath.now() + millis(20);
  int waits = 0;
  for (; datapath.now() < end && waits < 100; ++waits) datapath.wait(end);
  EXPECT_LT(waits, 100) << "each ends at once";
}

}  // namespace
}  // namespace heddle::datapath
