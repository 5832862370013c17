// Forward error correction between two engine endpoints on a simulated long cable that loses
// packets: every message arrives with its bytes, with fewer retransmissions, with keys as without.
#include "datapath/fec.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "datapath/regions.h"
#include "engine/endpoint.h"
#include "simulator/network.h"
#include "simulator/sim_datapath.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

constexpr uint64_t kPattern = 5;
constexpr size_t kMessage = 64 << 10;
constexpr Nanos kStep = micros(100);

struct Case {
  const char* name;
  datapath::FecOptions a;
  datapath::FecOptions b;
  bool keys = false;
};

struct Totals {
  uint64_t retransmitted = 0;
  datapath::DatapathStatistics sender;
  datapath::DatapathStatistics receiver;
};

class LossyCable {
 public:
  LossyCable(const Case& given, uint32_t loss_per_million)
      : network_(cable(loss_per_million), {}, 3),
        sender_(open(0, given.a, given.keys)),
        receiver_(open(1, given.b, given.keys)) {}

  // Sends messages one after another; false: one did not arrive, or has other bytes.
  bool send(uint32_t messages) {
    std::vector<std::byte> out(kMessage);
    std::vector<std::byte> in(kMessage);
    datapath::fill_pattern(kPattern, 0, out);
    if (!to_) to_ = *sender_->connect(receiver_->local_address());
    for (uint32_t i = 0; i < messages; ++i) {
      if (!from_ && !run([&] { return (from_ = receiver_->take_accepted()).has_value(); })) {
        return false;
      }
      std::fill(in.begin(), in.end(), std::byte{0});
      const auto receive = *receiver_->receive(*from_, 0, in.data(), kMessage);
      const auto send = *sender_->send(*to_, 0, out.data(), kMessage);
      engine::Outcome got;
      engine::Outcome sent;
      const bool done = run([&] {
        if (!got.done) got = receiver_->peek(receive);
        if (!sent.done) sent = sender_->peek(send);
        return got.done && sent.done;
      });
      if (!done || !got.ok || !sent.ok) return false;
      if (datapath::pattern_mismatch(kPattern, 0, in) != kMessage) return false;
    }
    return true;
  }

  Totals totals() {
    return {sender_->statistics(*to_)->segments_retransmitted, sender_->datapath_statistics(),
            receiver_->datapath_statistics()};
  }
  uint64_t bad_types() {
    const auto bad = static_cast<size_t>(events::DropReason::kBadType);
    return receiver_->statistics().drops_by_reason[bad];
  }

 private:
  static topology::Topology cable(uint32_t loss_per_million) {
    topology::Topology made = topology::point_to_point(
        {.rate = megabits_per_s(100), .delay = millis(5), .mtu_bytes = 1500});
    made.links[0].forward.loss_per_million = loss_per_million;
    made.links[0].backward.loss_per_million = loss_per_million;
    return made;
  }

  std::unique_ptr<engine::Endpoint> open(NicId nic, const datapath::FecOptions& fec, bool keys) {
    std::unique_ptr<datapath::Datapath> datapath =
        std::make_unique<SimDatapath>(network_, SimDatapathOptions{.nic = nic});
    if (fec.on()) datapath = *datapath::with_fec(std::move(datapath), fec);
    engine::Options options;
    options.drive = engine::Drive::kExternal;
    options.seed = nic + 1;
    options.eager_bytes = mebibytes(1);
    options.transport.accept = true;
    if (keys) options.transport.keys.emplace_back().secret.fill(std::byte{7});
    return *engine::Endpoint::create(std::shared_ptr<datapath::Datapath>(std::move(datapath)),
                                     options);
  }

  template <typename Done>
  bool run(Done done) {
    const Nanos limit = network_.now() + seconds(20);
    while (network_.now() < limit) {
      sender_->turn();
      receiver_->turn();
      if (done()) return true;
      network_.run_until(network_.now() + kStep);
    }
    return false;
  }

  Network network_;
  std::unique_ptr<engine::Endpoint> sender_;
  std::unique_ptr<engine::Endpoint> receiver_;
  std::optional<engine::Connection> to_;
  std::optional<engine::Connection> from_;
};

class FecTest : public testing::TestWithParam<Case> {};

TEST_P(FecTest, LossesAreRepairedWithoutRetransmission) {
  constexpr uint32_t kMessages = 200;
  constexpr uint32_t kLoss = 5'000;  // half a percent
  LossyCable plain({.name = "", .keys = GetParam().keys}, kLoss);
  ASSERT_TRUE(plain.send(kMessages));
  LossyCable with(GetParam(), kLoss);
  ASSERT_TRUE(with.send(kMessages));
  const Totals before = plain.totals();
  const Totals after = with.totals();
  EXPECT_GT(before.retransmitted, 20u);
  EXPECT_EQ(before.sender.parity_sent + before.receiver.rebuilt, 0u);
  EXPECT_GT(after.receiver.parity_received, 0u);
  EXPECT_GT(after.receiver.rebuilt, 20u);
  EXPECT_LT(after.retransmitted, before.retransmitted / 2);
}

TEST_P(FecTest, WithoutLossNothingIsRebuiltAndNothingRetransmitted) {
  LossyCable with(GetParam(), 0);
  ASSERT_TRUE(with.send(50));
  EXPECT_EQ(with.totals().receiver.rebuilt, 0u);
  EXPECT_EQ(with.totals().retransmitted, 0u);
  // The first announcement arrives before the receiver has sent anything: it is a stranger's.
  EXPECT_LE(with.bad_types(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Simulator, FecTest,
                         testing::Values(Case{"ten_and_two", {10, 2}, {10, 2}},
                                         Case{"one_in_five", {5, 1}, {5, 1}},
                                         Case{"different", {8, 2}, {32, 8}},
                                         Case{"keyed", {10, 2}, {10, 2}, true}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(FecInterop, APeerWithoutItIsServedAsBefore) {
  for (const bool keys : {false, true}) {
    LossyCable one({"", {10, 2}, {}, keys}, 5'000);
    ASSERT_TRUE(one.send(60));
    EXPECT_EQ(one.totals().sender.parity_sent, 0u);
    EXPECT_GT(one.bad_types(), 0u);  // announcements, counted and dropped
    EXPECT_LT(one.bad_types(), 20u);
    LossyCable other({"", {}, {10, 2}, keys}, 5'000);
    ASSERT_TRUE(other.send(60));
  }
}

}  // namespace
}  // namespace heddle::simulator
