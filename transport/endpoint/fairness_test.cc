// How an endpoint divides its sending among connections that all have more to send: by bytes,
// whatever the size of their bursts.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "base/testing/sanitized.h"
#include "base/units.h"
#include "transport/endpoint.h"

namespace heddle::transport {
namespace {

// Shares do not depend on the build.
constexpr int kBatches = kSanitized ? 5'000 : 20'000;

// What one peer asks for.
struct Demand {
  uint32_t max_datagram_bytes = 1472;
  uint32_t message_bytes = 1 << 20;
  uint32_t outstanding = 16;
};

// One endpoint that sends to several peers by a link of 100 Gb/s without delay. The link takes one
// batch at a time, so which connection is in it decides who sends. Headers only: payload is named
// and never read.
class FairnessTest : public ::testing::Test {
 protected:
  void start(const std::vector<Demand>& demands, const EndpointOptions& sender = {}) {
    for (size_t i = 0; i <= demands.size(); ++i) {
      EndpointOptions options = i == 0 ? sender : EndpointOptions();
      options.accept = i > 0;
      options.reply_port = address(i).port;
      options.receive_capacity = mebibytes(4);
      options.max_datagram_bytes = i == 0 ? 9000 : demands[i - 1].max_datagram_bytes;
      ends_.push_back({std::make_unique<Endpoint>(options, Seed(i + 1), nullptr)});
    }
    for (size_t i = 1; i <= demands.size(); ++i) {
      ends_[i].demand = demands[i - 1];
      const auto connected = end(0).post_connect(now_, address(i), {});
      ASSERT_TRUE(connected);
      ends_[i].sends_on = *connected;
    }
    for (size_t i = 1; i <= demands.size(); ++i) {
      for (uint32_t n = 0; n < demands[i - 1].outstanding; ++n) post_send(i);
    }
    run(2000);  // handshakes, path sizes, windows
  }

  void run(int batches) {
    for (int i = 0; i < batches; ++i) {
      if (end(0).poll_timeout() <= now_) end(0).handle_timeout(now_);
      take_results(0);
      send_one_batch(0);
      for (size_t peer = 1; peer < ends_.size(); ++peer) turn(peer);
      now_ += micros(1);
    }
  }

  // Bytes of payload that each peer gets in the next batches.
  std::vector<uint64_t> shares(int batches) {
    std::vector<uint64_t> before;
    for (const End& end : ends_) before.push_back(end.received);
    run(batches);
    std::vector<uint64_t> shares;
    for (size_t i = 1; i < ends_.size(); ++i) shares.push_back(ends_[i].received - before[i]);
    return shares;
  }

  static void expect_equal(const std::vector<uint64_t>& shares) {
    for (const uint64_t share : shares) {
      EXPECT_GT(share, 10'000'000u);
      EXPECT_NEAR(static_cast<double>(share), static_cast<double>(shares[0]),
                  0.1 * static_cast<double>(shares[0]));
    }
  }

 private:
  struct End {
    std::unique_ptr<Endpoint> endpoint;
    Demand demand;
    ConnectionId sends_on = 0;     // the sender's connection to it
    ConnectionId receives_on = 0;  // its own
    uint64_t received = 0;         // payload, whatever became of it
  };

  static Address address(size_t i) {
    Address address;
    address.host[15] = static_cast<uint8_t>(1 + i);
    address.port = static_cast<uint16_t>(100 + i);
    return address;
  }
  Endpoint& end(size_t i) { return *ends_[i].endpoint; }

  // The operation's number is the peer's.
  void post_send(size_t peer) {
    const Payload payload{1, 0, ends_[peer].demand.message_bytes};
    ASSERT_TRUE(end(0).post_send(now_, {ends_[peer].sends_on, 0}, payload, peer));
  }
  void post_receive(size_t peer) {
    const Payload buffer{1, 0, ends_[peer].demand.message_bytes};
    ASSERT_TRUE(end(peer).post_receive(now_, {ends_[peer].receives_on, 0}, buffer, peer));
  }

  void take_results(size_t i) {
    end(i).clear_placements();
    Notice notice;
    while (end(i).poll_notice(notice)) {
      ASSERT_NE(notice.kind, NoticeKind::kClosed);
      if (notice.kind != NoticeKind::kAccepted) continue;
      ends_[i].receives_on = notice.connection;
      for (uint32_t n = 0; n < ends_[i].demand.outstanding; ++n) post_receive(i);
    }
    Completion completion;
    while (end(i).poll_completion(completion)) {
      ASSERT_TRUE(completion.ok);
      completion.direction == Direction::kSend ? post_send(completion.operation)
                                               : post_receive(completion.operation);
    }
  }

  bool send_one_batch(size_t from) {
    batch_->clear();
    const bool some = end(from).poll_transmit(now_, *batch_);
    for (const TxBurst& burst : batch_->bursts()) deliver(from, burst);
    return some;
  }

  void turn(size_t i) {
    if (end(i).poll_timeout() <= now_) end(i).handle_timeout(now_);
    take_results(i);
    while (send_one_batch(i)) {
    }
  }

  void deliver(size_t from, const TxBurst& burst) {
    const auto to = static_cast<size_t>(burst.to.port - 100);
    const uint32_t bytes = burst.datagram_bytes();
    for (uint32_t i = 0; i < burst.segments; ++i) {
      std::memcpy(frame_.data() + size_t{i} * bytes, burst.headers + size_t{i} * burst.header_bytes,
                  burst.header_bytes);
    }
    RxRun run;
    run.from = address(from);
    run.received_at = now_;
    run.segments = burst.segments;
    run.segment_bytes = bytes;
    run.last_segment_bytes = burst.header_bytes + burst.last_payload_bytes;
    run.frame = frame_.data();
    ends_[to].received += burst.total_payload();
    end(to).handle_run(now_, run);
  }

  Nanos now_ = seconds(1);
  std::vector<End> ends_;
  std::unique_ptr<TxBatch> batch_ = std::make_unique<TxBatch>();
  std::vector<std::byte> frame_ = std::vector<std::byte>(128 * 1024);
};

// Where each datagram is a burst of its own, a turn by bursts favoured the larger datagrams.
TEST_F(FairnessTest, PeersOfDifferentDatagramSizesGetEqualShares) {
  EndpointOptions sender;
  sender.longest_burst = {1};
  start({{.max_datagram_bytes = 1472}, {.max_datagram_bytes = 9000}}, sender);
  expect_equal(shares(kBatches));
}

// A small message is a burst of its own; a large one leaves in bursts of up to 64,000 bytes.
TEST_F(FairnessTest, SmallMessagesGetTheShareOfLargeOnes) {
  start({{.message_bytes = 1400, .outstanding = 1024}, {.message_bytes = 1 << 20}});
  expect_equal(shares(kBatches));
}

TEST_F(FairnessTest, ManyConnectionsGetEqualShares) {
  start({{.max_datagram_bytes = 1472},
         {.max_datagram_bytes = 9000},
         {.max_datagram_bytes = 4000, .message_bytes = 70'000},
         {.max_datagram_bytes = 9000, .message_bytes = 3000, .outstanding = 1024}});
  expect_equal(shares(kBatches));
}

// What one connection leaves unused, the other gets.
TEST_F(FairnessTest, AConnectionWithLittleToSendLeavesTheRest) {
  start({{.message_bytes = 1 << 20}, {.message_bytes = 100, .outstanding = 1}});
  const std::vector<uint64_t> shares = this->shares(5000);
  EXPECT_GT(shares[1], 0u);
  EXPECT_GT(shares[0], 100 * shares[1]);
}

}  // namespace
}  // namespace heddle::transport
