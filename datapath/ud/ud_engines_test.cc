// Several engines over UD: each has a queue pair of its own, and a peer sends to the one of the
// engine that a datagram names.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/ud/testing/datagram_nics.h"
#include "datapath/ud/ud_datapath.h"
#include "datapath/verbs/open.h"

namespace heddle::datapath {
namespace {

constexpr uint8_t kEngines = 3;

class UdEnginesTest : public testing::Test {
 protected:
  static VerbsOptions options() {
    return {.paths = 4, .chunk_paths = 2, .mode = RdmaMode::kDatagrams};
  }
  void SetUp() override {
    auto one = UdDatapath::open(options(), {.port = nics_.port(0)});
    ASSERT_TRUE(one) << one.error().message();
    sender_ = std::move(*one);
    auto several = open_verbs_engines(options(), nics_.port(1), kEngines);
    ASSERT_TRUE(several) << several.error().message();
    engines_ = std::move(*several);
  }

  void send(uint8_t engine) {
    std::array<std::byte, 64> packet{};
    packet[0] = std::byte{0x28};
    packet[transport::kEngineIdAt] = std::byte{static_cast<uint8_t>(engine | 0x40)};
    transport::TxBurst burst;
    burst.to = engines_[0]->local_address();
    burst.connection = 1;
    burst.segments = 1;
    burst.header_bytes = packet.size();
    burst.headers = packet.data();
    ASSERT_EQ(sender_->transmit({&burst, 1}), 1U);
  }
  // Datagrams that arrived, by engine; each names the engine that receives it.
  std::array<size_t, kEngines> drive() {
    std::array<size_t, kEngines> got{};
    RxBatch batch;
    for (int turn = 0; turn < 100; ++turn) {
      if (sender_->receive(batch, nullptr) > 0) sender_->release(batch);
      for (uint8_t at = 0; at < kEngines; ++at) {
        if (engines_[at]->receive(batch, nullptr) == 0) continue;
        for (size_t i = 0; i < batch.count; ++i) {
          for (uint32_t s = 0; s < batch.runs[i].segments; ++s) {
            const std::byte* const datagram = batch.runs[i].frame + s * batch.runs[i].step();
            EXPECT_EQ(std::to_integer<int>(datagram[transport::kEngineIdAt]) & 3, at);
            ++got[at];
          }
        }
        engines_[at]->release(batch);
      }
    }
    return got;
  }
  // Until datagrams for each engine travel by queue pair.
  bool acquaint() {
    const Nanos end = sender_->now() + seconds(10);
    while (sender_->now() < end) {
      const uint64_t before = sender_->ud_statistics().datagrams_sent;
      for (uint8_t engine = 0; engine < kEngines; ++engine) send(engine);
      drive();
      if (sender_->ud_statistics().datagrams_sent >= before + kEngines) return true;
      sender_->wait(sender_->now() + millis(2));
    }
    return false;
  }

  DatagramNics nics_{{"127.0.0.1", "127.0.0.2"}};
  std::unique_ptr<UdDatapath> sender_;
  std::vector<std::unique_ptr<Datapath>> engines_;
};

TEST_F(UdEnginesTest, ADatagramTakesTheQueuePairOfTheEngineThatItNames) {
  ASSERT_TRUE(acquaint());
  std::array<uint64_t, kEngines> handed{};
  for (uint8_t at = 0; at < kEngines; ++at) handed[at] = engines_[at]->statistics().handed_over;
  const uint64_t before = nics_.delivered();
  for (int i = 0; i < 10; ++i) {
    for (uint8_t engine = 0; engine < kEngines; ++engine) send(engine);
  }
  EXPECT_GE(nics_.delivered(), before + 10 * kEngines);
  EXPECT_EQ(drive(), (std::array<size_t, kEngines>{10, 10, 10}));
  // None took the detour over another engine.
  for (uint8_t at = 0; at < kEngines; ++at) {
    EXPECT_EQ(engines_[at]->statistics().handed_over, handed[at]);
  }
}

TEST_F(UdEnginesTest, ARestartWithFewerEnginesIsNoticed) {
  ASSERT_TRUE(acquaint());
  VerbsOptions same = options();
  same.port = engines_[0]->local_address().port;
  engines_.clear();
  auto one = UdDatapath::open(same, {.port = nics_.port(1)});
  ASSERT_TRUE(one) << one.error().message();
  const Nanos end = sender_->now() + seconds(20);
  const auto took_pair = [&] {
    const uint64_t before = (*one)->ud_statistics().datagrams_received;
    std::array<std::byte, 64> packet{};
    packet[0] = std::byte{0x28};
    packet[transport::kEngineIdAt] = std::byte{0x42};
    transport::TxBurst burst;
    burst.to = (*one)->local_address();
    burst.connection = 1;
    burst.segments = 1;
    burst.header_bytes = packet.size();
    burst.headers = packet.data();
    sender_->transmit({&burst, 1});
    RxBatch batch;
    for (int turn = 0; turn < 40; ++turn) {
      if ((*one)->receive(batch, nullptr) > 0) (*one)->release(batch);
      if (sender_->receive(batch, nullptr) > 0) sender_->release(batch);
    }
    return (*one)->ud_statistics().datagrams_received > before;
  };
  bool took = false;
  while (!took && sender_->now() < end) {
    took = took_pair();
    sender_->wait(sender_->now() + millis(1));
  }
  EXPECT_TRUE(took);
}

}  // namespace
}  // namespace heddle::datapath
