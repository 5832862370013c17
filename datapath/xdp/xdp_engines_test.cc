// Several engines over AF_XDP: each has sockets of its own at every queue, also where there is only
// one, and none keeps frames that another needs. Needs root.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "datapath/engines/engine_datapath.h"
#include "datapath/udp.h"
#include "datapath/xdp/params.h"
#include "datapath/xdp/testing/wired_hosts.h"
#include "datapath/xdp/xdp_datapath.h"

namespace heddle::datapath {
namespace {

constexpr uint8_t kEngines = 3;

class XdpEnginesTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    auto made = WiredHosts::create({.queues = GetParam()});
    if (!made) GTEST_SKIP() << made.error().message();
    hosts_ = std::move(*made);
    XdpOptions options;
    options.bind = "10.8.0.2";
    options.paths = 4;
    options.mode = XdpMode::kCopy;
    Result<std::vector<std::unique_ptr<XdpDatapath>>> opened = fail(ErrorCode::kSystem, "not run");
    hosts_->b().run([&] { opened = XdpDatapath::open_engines(options, kEngines); });
    if (!opened && opened.error().code == ErrorCode::kPermission) {
      GTEST_SKIP() << opened.error().message();
    }
    ASSERT_TRUE(opened) << opened.error().message();
    engines_ = std::move(*opened);
    hosts_->a().run([&] {
      UdpOptions udp;
      udp.bind = "10.8.0.1";
      udp.paths = 4;
      if (auto sender = open_udp(udp)) sender_ = std::move(*sender);
    });
    ASSERT_NE(sender_, nullptr);
  }

  // A data packet for an engine.
  void send(uint8_t engine, uint16_t path = 0) {
    std::array<std::byte, 64> packet{};
    packet[0] = std::byte{0x28};
    packet[transport::kEngineIdAt] = std::byte{static_cast<uint8_t>(engine | 0x40)};
    transport::TxBurst burst;
    burst.to = engines_[0]->local_address();
    burst.path = path;
    burst.segments = 1;
    burst.header_bytes = packet.size();
    burst.headers = packet.data();
    ASSERT_EQ(sender_->transmit({&burst, 1}), 1U);
  }

  // Receives until there are `count` or nothing more arrives.
  static size_t collect(Datapath& at, size_t count) {
    size_t got = 0;
    RxBatch batch;
    for (int turns = 0; got < count && turns < 50; ++turns) {
      if (at.receive(batch, nullptr) == 0) {
        at.wait(at.now() + millis(10));
        continue;
      }
      for (size_t i = 0; i < batch.count; ++i) got += batch.runs[i].segments;
      at.release(batch);
    }
    return got;
  }

  std::unique_ptr<WiredHosts> hosts_;
  std::vector<std::unique_ptr<XdpDatapath>> engines_;
  std::unique_ptr<Datapath> sender_;
};

INSTANTIATE_TEST_SUITE_P(Queues, XdpEnginesTest, testing::Values(1, 2),
                         [](const auto& queues) { return std::to_string(queues.param); });

TEST_P(XdpEnginesTest, TheProgramGivesEachDatagramToTheEngineThatItNames) {
  for (uint8_t engine = 0; engine < kEngines; ++engine) {
    EXPECT_EQ(engines_[engine]->local_address(), engines_[0]->local_address());
    for (uint16_t i = 0; i < 4 * (engine + 1); ++i) send(engine, i % 4);
  }
  for (uint8_t engine = 0; engine < kEngines; ++engine) {
    const size_t expected = 4 * (size_t{engine} + 1);
    EXPECT_EQ(collect(*engines_[engine], expected), expected);
    EXPECT_EQ(engines_[engine]->xdp_statistics().datagrams_received, expected);
  }
}

// All frames of a queue that a sleeping engine does not give back are its own.
TEST_P(XdpEnginesTest, AnEngineThatDoesNotReceiveTakesNoFramesOfTheOthers) {
  const size_t more = size_t{GetParam()} * xdp_params::kReceiveFrames + 1'000;
  for (size_t i = 0; i < more; ++i) send(0);
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < 50; ++i) send(1);
    ASSERT_EQ(collect(*engines_[1], 50), 50U);
  }
  EXPECT_EQ(engines_[1]->statistics().dropped_at_receive, 0U);
  EXPECT_GE(engines_[0]->statistics().dropped_at_receive, 1'000U);
  EXPECT_GE(collect(*engines_[0], xdp_params::kReceiveFrames), xdp_params::kReceiveFrames);
}

// Frames that were sent return through one ring to whichever engine asks first.
TEST_P(XdpEnginesTest, EnginesSendAtOnceAndEachGetsItsFramesBack) {
  constexpr int kBursts = 400;
  constexpr uint16_t kSegments = 32;
  const transport::Address to = sender_->local_address();
  const auto transmit = [&](uint8_t engine) {
    std::vector<std::byte> headers(size_t{kSegments} * 64, std::byte{0x28});
    transport::TxBurst burst;
    burst.to = to;
    burst.path = engine;
    burst.segments = kSegments;
    burst.header_bytes = 64;
    burst.headers = headers.data();
    Datapath& datapath = *engines_[engine];
    for (int i = 0; i < kBursts; ++i) {
      while (datapath.transmit({&burst, 1}) == 0) datapath.wait(datapath.now() + millis(1));
    }
  };
  static_assert(kBursts * kSegments > 2 * xdp_params::kTransmitFrames);
  std::vector<std::thread> threads;
  for (uint8_t engine = 0; engine < kEngines; ++engine) threads.emplace_back(transmit, engine);
  for (std::thread& thread : threads) thread.join();
  for (const auto& engine : engines_) {
    EXPECT_GE(engine->xdp_statistics().datagrams_sent, uint64_t{kBursts - 1} * kSegments);
  }
}

TEST_P(XdpEnginesTest, TheInterfaceIsFreeOnceTheLastEngineEnded) {
  const auto again = [&] {
    bool free = false;
    hosts_->b().run([&] {
      XdpOptions options;
      options.bind = "10.8.0.2";
      free = open_xdp_engines(options, 2).has_value();
    });
    return free;
  };
  engines_.pop_back();
  EXPECT_FALSE(again());
  engines_.clear();
  EXPECT_TRUE(again());
}

}  // namespace
}  // namespace heddle::datapath
