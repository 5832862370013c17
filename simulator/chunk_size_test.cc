// Sizes of remote writes by a NIC that repeats nothing: long ones while nothing is lost, and short
// ones, of which a lost packet takes less with it, where packets are lost at random.
#include <gtest/gtest.h>

#include "simulator/testing/stream.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr uint32_t kMessages = 400;
constexpr uint64_t kMessageBytes = 1 << 20;
constexpr uint32_t kUnit = 8'192;  // two packets of the largest RDMA MTU

TransportProcessOptions at_nic(NicId nic) {
  TransportProcessOptions options;
  options.process.datapath.nic = nic;
  options.process.datapath.receive_capacity = mebibytes(4);
  options.process.datapath.chunk_paths = 16;
  options.process.datapath.chunk_bytes = kUnit;
  options.transport.accept = true;
  return options;
}

struct Sent {
  double gbits_per_s = 0;
  uint64_t segments = 0;
};

// Messages over a link of 100 Gb/s that loses packets in both directions.
Sent stream_over(uint32_t loss_per_million) {
  WorldOptions options{.topology =
                           topology::point_to_point({.delay = micros(5), .queue = mebibytes(64)})};
  options.topology.links[0].forward.loss_per_million = loss_per_million;
  options.topology.links[0].backward.loss_per_million = loss_per_million;
  World world(options, 1);
  TransportProcess& sender = world.add(at_nic(0));
  TransportProcess& receiver = world.add(at_nic(1));
  StreamOptions stream{.message_bytes = kMessageBytes, .messages = kMessages, .ahead = 64};
  Stream to(receiver, stream);
  stream.peer = receiver.address();
  Stream from(sender, stream);
  const Nanos began = world.now();
  EXPECT_TRUE(world.run_until_done([&] { return from.done() && to.done(); }, seconds(10)));
  EXPECT_EQ(from.failed() + to.failed(), 0u);
  EXPECT_TRUE(to.violations().empty());
  const auto took_ns = static_cast<double>((to.done_at() - began).count);
  const Sent sent{kMessages * kMessageBytes * 8 / took_ns, from.statistics()->segments_sent};
  to.forget();
  return sent;
}

TEST(ChunkSizeTest, ChunksAreLongWithoutLossAndShortWithMuch) {
  const Sent whole = stream_over(0);
  EXPECT_EQ(whole.segments, kMessages * kMessageBytes / (4 * kUnit));
  EXPECT_GT(whole.gbits_per_s, 90);
  EXPECT_GT(stream_over(1'000).gbits_per_s, 0.97 * whole.gbits_per_s);
  // With four units throughout it is 0.72 over a longer stream.
  const Sent lossy = stream_over(10'000);
  EXPECT_GT(lossy.gbits_per_s, 0.9 * whole.gbits_per_s);
  EXPECT_GT(lossy.segments, kMessages * kMessageBytes / (2 * kUnit)) << "most are of one unit";
}

}  // namespace
}  // namespace heddle::simulator
