// A caller that makes no call at all keeps its connection over real UDP: its helper answers probes
// and acknowledges, so the peer neither dies nor repeats without end.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "engine/endpoint.h"

namespace heddle::engine {
namespace {

constexpr Nanos kPatience = seconds(60);
// A helper may wait for a core.
constexpr Nanos kDeadAfter = seconds(4);

std::unique_ptr<Endpoint> open_on_loopback(bool accept) {
  NetworkOptions network;
  network.bind = "127.0.0.1";
  Options options;
  options.transport.accept = accept;
  options.transport.peer_dead_after = kDeadAfter;
  return std::move(Endpoint::open(network, options)).value();
}

class QuietCaller : public testing::Test {
 protected:
  void SetUp() override {
    quiet_ = open_on_loopback(true);
    lively_ = open_on_loopback(false);
    to_quiet_ = lively_->connect(quiet_->local_address()).value();
    ASSERT_TRUE(lively_->wait_open(to_quiet_, kPatience));
    const auto accepted = quiet_->accept(kPatience);
    ASSERT_TRUE(accepted);
    to_lively_ = *accepted;
  }

  std::unique_ptr<Endpoint> quiet_;
  std::unique_ptr<Endpoint> lively_;
  Connection to_quiet_ = 0;
  Connection to_lively_ = 0;
};

// Real time is what this test is about: three times the span after which a peer is dead.
TEST_F(QuietCaller, IsNeitherDeclaredDeadNorFlooded) {
  std::vector<std::byte> payload(8 << 20);
  std::vector<std::byte> buffer(payload.size());
  const Operation receive = quiet_->receive(to_lively_, 0, buffer.data(), buffer.size()).value();
  const Operation early = lively_->send(to_quiet_, 0, payload.data(), payload.size()).value();
  // Its receive will not be posted before the end.
  const Operation late = lively_->send(to_quiet_, 0, payload.data(), payload.size()).value();
  ASSERT_TRUE(lively_->wait(early, kPatience).ok);
  const uint64_t sent_before = lively_->statistics(to_quiet_)->payload_bytes_sent;

  const Nanos until = lively_->now() + 3 * kDeadAfter;
  while (lively_->now() < until) lively_->progress(until - lively_->now());
  EXPECT_EQ(lively_->status(to_quiet_).state, ConnectionState::kOpen);
  EXPECT_FALSE(lively_->peek(late).done);
  EXPECT_EQ(lively_->statistics(to_quiet_)->payload_bytes_sent, sent_before);
  EXPECT_LT(
      lively_->datapath_statistics().datagrams_sent - lively_->statistics(to_quiet_)->segments_sent,
      5'000U);

  // The caller comes back and finds everything as it should be.
  EXPECT_TRUE(quiet_->wait(receive, kPatience).ok);
  const Operation next = quiet_->receive(to_lively_, 0, buffer.data(), buffer.size()).value();
  EXPECT_TRUE(quiet_->wait(next, kPatience).ok);
  EXPECT_TRUE(lively_->wait(late, kPatience).ok);
}

// Both callers stay away in mid-transfer: the helper drives both ends to the end.
TEST_F(QuietCaller, HelperFinishesWhatWasPosted) {
  constexpr size_t kMessages = 16;
  std::vector<std::byte> payload(1 << 20, std::byte{42});
  std::vector<std::vector<std::byte>> buffers(kMessages, std::vector<std::byte>(payload.size()));
  std::vector<Operation> receives;
  std::vector<Operation> sends;
  for (std::vector<std::byte>& buffer : buffers) {
    receives.push_back(quiet_->receive(to_lively_, 0, buffer.data(), buffer.size()).value());
    sends.push_back(lively_->send(to_quiet_, 0, payload.data(), payload.size()).value());
  }
  // peek() gives no turn.
  const Nanos give_up = lively_->now() + kPatience;
  for (size_t done = 0; done < kMessages;) {
    ASSERT_LT(lively_->now(), give_up);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    while (done < kMessages && lively_->peek(sends[done]).done) ++done;
  }
  for (size_t i = 0; i < kMessages; ++i) {
    EXPECT_TRUE(quiet_->wait(receives[i], kPatience).ok);
    EXPECT_TRUE(buffers[i] == payload);
  }
}

}  // namespace
}  // namespace heddle::engine
