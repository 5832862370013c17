// The engine's face over a simulated network, as collectives and plugins are tested: the same
// class, driven by turns on virtual time, over datagrams and over remote writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "engine/endpoint.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::engine {
namespace {

using simulator::Network;
using simulator::SimDatapath;
using simulator::SimDatapathOptions;

// How many chunk paths the NICs have; 0: they carry datagrams only.
class SimulatedNetwork : public testing::TestWithParam<uint16_t> {
 protected:
  void SetUp() override {
    topology::LinkShape shape;
    shape.mtu_bytes = 9'000;
    network_ = std::make_unique<Network>(topology::parallel_paths(4, shape, shape),
                                         simulator::NetworkOptions{}, 1);
    sender_ = attach(0, false);
    receiver_ = attach(1, true);
    to_receiver_ = sender_->connect(receiver_->local_address()).value();
    std::optional<Connection> accepted;
    run_until([&] {
      if (!accepted) accepted = receiver_->accept(Nanos{});
      return accepted && sender_->status(to_receiver_).state == ConnectionState::kOpen;
    });
    to_sender_ = accepted.value_or(0);
  }

  std::unique_ptr<Endpoint> attach(simulator::NicId nic, bool accept) {
    SimDatapathOptions network;
    network.nic = nic;
    network.chunk_paths = GetParam();
    Options options;
    options.drive = Drive::kExternal;
    options.seed = 1 + nic;
    options.transport.accept = accept;
    options.eager_bytes = mebibytes(1);
    return std::move(Endpoint::create(std::make_shared<SimDatapath>(*network_, network), options))
        .value();
  }

  // Both callers come by whenever something may be due; virtual time passes in between.
  template <typename Done>
  void run_until(Done done) {
    const Nanos give_up = network_->now() + seconds(30);
    while (!done()) {
      ASSERT_LT(network_->now(), give_up);
      pass_time(std::min(sender_->turn(), receiver_->turn()));
    }
  }

  void pass_time(Nanos until) {
    if (until <= network_->now()) return;
    if (network_->next_event_at() <= until) {
      network_->step();
    } else {
      network_->run_until(until);
    }
  }

  static std::vector<std::byte> pattern(size_t count) {
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761U >> 13);
    return bytes;
  }

  std::unique_ptr<Network> network_;
  std::unique_ptr<Endpoint> sender_;
  std::unique_ptr<Endpoint> receiver_;
  Connection to_receiver_ = 0;
  Connection to_sender_ = 0;
};

TEST_P(SimulatedNetwork, MovesRegisteredAndUnregisteredMemory) {
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{1} << 20, size_t{5'000'001}}) {
    const std::vector<std::byte> sent = pattern(bytes);
    std::vector<std::byte> got(bytes);
    std::vector<std::byte> got_again(bytes + 1);
    const Memory memory = receiver_->register_memory(got_again.data(), got_again.size()).value();
    const Operation first = receiver_->receive(to_sender_, 0, got.data(), bytes).value();
    const Operation second = receiver_->receive(to_sender_, 0, memory.slice(0, bytes)).value();
    for (int i = 0; i < 2; ++i) {
      const Operation send = sender_->send(to_receiver_, 0, sent.data(), bytes).value();
      sender_->forget(send);
    }
    Outcome outcome;
    run_until([&] { return (outcome = receiver_->peek(first)).done; });
    EXPECT_TRUE(outcome.ok);
    run_until([&] { return (outcome = receiver_->peek(second)).done; });
    EXPECT_TRUE(outcome.ok);
    EXPECT_EQ(outcome.bytes, bytes);
    EXPECT_TRUE(got == sent);
    got_again.resize(bytes);
    EXPECT_TRUE(got_again == sent);
  }
  if (GetParam() == 0) return;
  EXPECT_GT(receiver_->datapath_statistics().payload_placed_bytes, 8'000'000U) << "remote writes";
}

// No call of the receiver's for a minute of virtual time: only the helper looks after it.
TEST_P(SimulatedNetwork, HelperKeepsAQuietCallerAlive) {
  const std::vector<std::byte> sent = pattern(1 << 20);
  std::vector<std::byte> got(sent.size());
  const Operation receive = receiver_->receive(to_sender_, 0, got.data(), got.size()).value();
  const Operation early = sender_->send(to_receiver_, 0, sent.data(), sent.size()).value();
  const Operation late = sender_->send(to_receiver_, 0, sent.data(), sent.size()).value();
  const Nanos until = network_->now() + seconds(60);
  while (network_->now() < until) {
    pass_time(std::min({sender_->turn(), receiver_->helper_turn(), until}));
  }
  EXPECT_TRUE(sender_->peek(early).ok);
  EXPECT_FALSE(sender_->peek(late).done);
  EXPECT_EQ(sender_->status(to_receiver_).state, ConnectionState::kOpen);
  EXPECT_EQ(sender_->statistics(to_receiver_)->payload_bytes_retransmitted, 0U);
  EXPECT_TRUE(receiver_->peek(receive).ok);
  EXPECT_TRUE(got == sent);
  const Operation next = receiver_->receive(to_sender_, 0, got.data(), got.size()).value();
  run_until([&] { return sender_->peek(late).done; });
  EXPECT_TRUE(receiver_->peek(next).ok);
}

INSTANTIATE_TEST_SUITE_P(Shapes, SimulatedNetwork, testing::Values(0, 4),
                         [](const auto& each) { return each.param == 0 ? "datagrams" : "chunks"; });

}  // namespace
}  // namespace heddle::engine
