// What of a device's completions and reports reaches the datapath.
#include "datapath/verbs/device.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>

#include "datapath/verbs/params.h"
#include "datapath/verbs/queue_pair.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

// A peer that sends without an immediate uses up its own receives; its bytes are no immediate.
TEST(VerbsDeviceTest, ReceivesWithoutAnImmediateAreLeftOut) {
  FakeVerbs fake;
  const std::unique_ptr<VerbsDevice> device = fake.open();
  const auto pair = QueuePair::create(*device, {.receives = true, .id = 3});
  ASSERT_TRUE(pair);
  ASSERT_TRUE((*pair)->post_receives(verbs_params::kReceiveDepth));
  const uint32_t number = (*pair)->number();
  for (size_t i = 0; i < 2 * verbs_params::kCompletionsACall; ++i) {
    fake.arrive_without_immediate(number);
  }
  fake.arrive(number, 77);
  std::array<Completion, verbs_params::kCompletionsACall> done;
  ASSERT_EQ(device->poll(done), 1u);
  EXPECT_EQ(done[0].id, 3u);
  EXPECT_EQ(done[0].immediate, 77u);
  EXPECT_TRUE(done[0].ok);
  EXPECT_EQ(device->poll(done), 0u);
}

TEST(VerbsDeviceTest, OnlyAFailedDeviceEndsItsQueuePairs) {
  FakeVerbs fake;
  const std::unique_ptr<VerbsDevice> device = fake.open();
  EXPECT_FALSE(device->take_reports());
  fake.report(IBV_EVENT_PORT_ERR);
  fake.report(IBV_EVENT_PORT_ACTIVE);
  fake.report(IBV_EVENT_QP_FATAL);
  EXPECT_FALSE(device->take_reports());
  fake.report(IBV_EVENT_DEVICE_FATAL);
  fake.report(IBV_EVENT_PORT_ERR);
  EXPECT_TRUE(device->take_reports());
  EXPECT_FALSE(device->take_reports());
}

}  // namespace
}  // namespace heddle::datapath
