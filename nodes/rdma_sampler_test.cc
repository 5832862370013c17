// What ports of RDMA devices counted, from a tree as the mlx5 driver makes it.
#include "nodes/rdma_sampler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"

namespace heddle::nodes {
namespace {

class RdmaSamplerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::make("heddle-rdma");
    ASSERT_TRUE(made);
    folder_ = std::move(*made);
    write("state", "4: ACTIVE");
    write("hw_counters/out_of_sequence", "10");
    write("hw_counters/local_ack_timeout_err", "0");
    write("hw_counters/implied_nak_seq_err", "5");
    write("hw_counters/lifespan", "10");
    write("counters/port_rcv_data", "100");
    write("counters/port_xmit_wait", "7");
  }
  void write(const std::string& name, const std::string& text) {
    const auto file =
        std::filesystem::path(folder_.path()) / "class/infiniband/mlx5_0/ports/1" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  TemporaryFolder folder_;
};

TEST_F(RdmaSamplerTest, CountersThatGrewAreAnEvent) {
  RdmaSampler sampler(folder_.path());
  EXPECT_TRUE(sampler.take(seconds(1)).empty());
  EXPECT_TRUE(sampler.take(seconds(2)).empty());
  write("hw_counters/out_of_sequence", "13");
  write("hw_counters/implied_nak_seq_err", "9");
  write("hw_counters/lifespan", "20");
  write("counters/port_rcv_data", "125");
  const auto events = sampler.take(seconds(4));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].device.view(), "mlx5_0");
  EXPECT_EQ(events[0].port, 1);
  EXPECT_EQ(events[0].span, seconds(2));
  EXPECT_TRUE(events[0].active);
  EXPECT_EQ(events[0].out_of_sequence, 3u);
  EXPECT_EQ(events[0].other_errors, 4u);
  EXPECT_EQ(events[0].received_bytes, 100u);  // the counter's unit is 4 bytes
  EXPECT_EQ(events[0].local_ack_timeout_err, 0u);
}

TEST_F(RdmaSamplerTest, APortThatGoesDownIsAnEvent) {
  RdmaSampler sampler(folder_.path());
  sampler.take(seconds(1));
  write("state", "1: DOWN");
  const auto events = sampler.take(seconds(2));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_FALSE(events[0].active);
}

// While a device is reset its counters cannot be read: zero would be a reading that fell.
TEST_F(RdmaSamplerTest, ACounterThatCannotBeReadKeepsItsLastReading) {
  RdmaSampler sampler(folder_.path());
  sampler.take(seconds(1));
  write("hw_counters/out_of_sequence", "");
  write("state", "");
  EXPECT_TRUE(sampler.take(seconds(2)).empty());
  write("hw_counters/out_of_sequence", "12");
  write("state", "4: ACTIVE");
  const auto events = sampler.take(seconds(3));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].out_of_sequence, 2u);
  EXPECT_TRUE(events[0].active);
}

TEST_F(RdmaSamplerTest, ACounterThatIsReadLateBeginsThere) {
  write("hw_counters/out_of_sequence", "");
  RdmaSampler sampler(folder_.path());
  sampler.take(seconds(1));
  write("hw_counters/out_of_sequence", "7");
  EXPECT_TRUE(sampler.take(seconds(2)).empty());
}

TEST_F(RdmaSamplerTest, AMachineWithoutDevicesHasNone) {
  RdmaSampler sampler(folder_.path() + "/nothing");
  EXPECT_TRUE(sampler.take(seconds(1)).empty());
}

}  // namespace
}  // namespace heddle::nodes
