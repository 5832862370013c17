// The played kernel against a connection that leads back to itself: bytes, steps, channels,
// refusals.
#include "tests/nccl/cuda_stand_in/point_to_point_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tests/nccl/cuda_stand_in/device_work.h"

namespace heddle::cuda_stand_in {
namespace {

using testing::HasSubstr;

constexpr int kStepBytes = 128 << 10;
constexpr uint8_t kStepCode = 120;  // 128 KiB by decode_chunk_bytes()

// A connection whose two ends are one: what is sent to rank 1 is received from rank 1.
struct Loop {
  Loop() : buffers(kSteps * kStepBytes) {
    ConnectionInfo& send = peer.send[kPointToPointIndex];
    send.buffers[kSimple] = buffers.data();
    send.head = &head;
    send.tail = &tail;
    send.step_bytes = kStepBytes;
    send.fifo = slots.data();
    peer.receive[kPointToPointIndex] = send;
  }

  std::vector<char> buffers;
  std::array<FifoSlot, kSteps> slots{};
  uint64_t head = 0;
  uint64_t tail = 0;
  ChannelPeer peer{};
};

// What NCCL passes to a kernel of rank 0 that sends `bytes` to rank 1 and receives as many.
class Launch {
 public:
  Launch(size_t bytes, int channels) : sent_(bytes), received_(bytes, '?'), loops_(channels) {
    for (size_t i = 0; i < bytes; ++i) sent_[i] = static_cast<char>(i * 7 + i / 251);
    const size_t works_at =
        sizeof(KernelArguments) + static_cast<size_t>(channels) * sizeof(WorkBatch);
    for (int channel = 0; channel < channels; ++channel) {
      peers_[channel] = {nullptr, &loops_[channel].peer};
      channels_[channel].peers = peers_[channel].data();
      batch(channel).offset_base = static_cast<uint32_t>(works_at);
      batch(channel).offset_bits = 1;
    }
    communicator_.ranks = 2;
    communicator_.abort_flag = &abort_;
    communicator_.channels = channels_.data();
    arguments().communicator = &communicator_;
    arguments().channel_mask = (uint64_t{1} << channels) - 1;
    work_ = reinterpret_cast<PointToPointWork*>(bytes_.data() + works_at);
    *work_ = {.send_address = sent_.data(),
              .receive_address = received_.data(),
              .send_bytes = bytes,
              .receive_bytes = bytes,
              .send_rank = 1,
              .receive_rank = 1,
              .channels = static_cast<uint8_t>(channels),
              .first_channel = 0,
              .send_channels = static_cast<uint8_t>(channels),
              .receive_channels = static_cast<uint8_t>(channels),
              .send_chunk = kStepCode,
              .receive_chunk = kStepCode,
              .flags = 0};
  }

  KernelArguments& arguments() { return *reinterpret_cast<KernelArguments*>(bytes_.data()); }
  WorkBatch& batch(int index) {
    return reinterpret_cast<WorkBatch*>(bytes_.data() + sizeof(KernelArguments))[index];
  }
  PointToPointWork& work() { return *work_; }
  Loop& loop(int channel) { return loops_[channel]; }
  void abort() { abort_ = 1; }
  std::string refused() const { return unsupported_reason(bytes_.data(), bytes_.size()); }
  void run() { run_kernel(bytes_.data()); }
  bool arrived() const { return sent_ == received_; }

 private:
  alignas(16) std::array<char, 4096> bytes_{};
  std::vector<char> sent_;
  std::vector<char> received_;
  std::vector<Loop> loops_;
  std::array<std::array<ChannelPeer*, 2>, kMaxChannels> peers_{};
  std::array<Channel, kMaxChannels> channels_{};
  KernelCommunicator communicator_{};
  volatile uint32_t abort_ = 0;
  PointToPointWork* work_ = nullptr;
};

TEST(PointToPointKernel, MovesEveryByteAndCountsAStepAChunk) {
  constexpr size_t kStep = kStepBytes;
  for (size_t bytes : {size_t{0}, size_t{1}, kStep, kStep + 1, 20 * kStep + 5}) {
    Launch launch(bytes, 1);
    ASSERT_EQ(launch.refused(), "");
    launch.run();
    EXPECT_TRUE(launch.arrived()) << bytes;
    const uint64_t steps = bytes == 0 ? 1 : (bytes + kStep - 1) / kStep;
    EXPECT_EQ(launch.loop(0).tail, steps);
    EXPECT_EQ(launch.loop(0).head, steps);
    EXPECT_EQ(launch.loop(0).peer.send[kPointToPointIndex].step, steps);
    EXPECT_EQ(launch.loop(0).peer.receive[kPointToPointIndex].step, steps);
  }
}

TEST(PointToPointKernel, ContinuesWhereTheLastLaunchEnded) {
  Launch launch(3 * size_t{kStepBytes}, 1);
  launch.run();
  launch.run();
  EXPECT_TRUE(launch.arrived());
  EXPECT_EQ(launch.loop(0).tail, 6u);
}

TEST(PointToPointKernel, DividesATransferAmongChannels) {
  Launch launch(10'000'001, 4);
  launch.run();
  EXPECT_TRUE(launch.arrived());
  for (int channel = 0; channel < 4; ++channel) EXPECT_EQ(launch.loop(channel).tail, 20u);
}

TEST(PointToPointKernel, UsesTheBufferThatTheProxyNames) {
  Launch launch(100, 1);
  for (FifoSlot& slot : launch.loop(0).slots) slot.mode = 1, slot.offset = 3 * kStepBytes;
  launch.run();
  EXPECT_TRUE(launch.arrived());
  EXPECT_EQ(launch.loop(0).slots[0].size, 100);
  EXPECT_EQ(launch.loop(0).buffers[3 * kStepBytes + 1], 7);
}

TEST(PointToPointKernel, EndsWhenTheCommunicatorIsAborted) {
  Launch launch(20 * size_t{kStepBytes}, 1);
  launch.work().send_channels = 0;  // nothing will arrive
  launch.abort();
  launch.run();
  EXPECT_FALSE(launch.arrived());
}

TEST(PointToPointKernel, RefusesWhatItCannotPlay) {
  EXPECT_THAT(unsupported_reason("", 0), HasSubstr("not the arguments"));
  Launch collective(1, 1);
  collective.batch(0).work_type = 1;
  EXPECT_THAT(collective.refused(), HasSubstr("no collectives"));
  Launch low_latency(1, 1);
  low_latency.work().flags = 1;
  EXPECT_THAT(low_latency.refused(), HasSubstr("LL"));
}

}  // namespace
}  // namespace heddle::cuda_stand_in
