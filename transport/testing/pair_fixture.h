// PairFixture: what tests of two endpoints share: a Pair, one connection from side 0 to side 1,
// memory on both sides, and short ways to send and receive.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "transport/testing/pair.h"

namespace heddle::transport::testing {

class PairFixture : public ::testing::Test {
 protected:
  static constexpr size_t kMemory = 16 << 20;

  // Makes the pair and its memory, and connects.
  void start(PairOptions options = {}, const ConnectionOptions& connection = {}) {
    make(std::move(options));
    client_ = connect(connection);
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) >= 1 && seen(1) >= 1; }, seconds(4)));
    ASSERT_EQ(pair_->notices[0][0].kind, NoticeKind::kOpened);
    ASSERT_EQ(pair_->notices[1][0].kind, NoticeKind::kAccepted);
    server_ = pair_->notices[1][0].connection;
  }
  void make(PairOptions options = {}) {
    pair_ = std::make_unique<Pair>(std::move(options));
    for (int side = 0; side < 2; ++side) memory_[side] = pair_->add_region(side, kMemory);
    Random random(7);
    std::vector<std::byte>& bytes = pair_->region(0, memory_[0]);
    for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
      const uint64_t value = random.next();
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
  }
  ConnectionId connect(const ConnectionOptions& options = {}, int side = 0) {
    const auto id = end(side).post_connect(pair_->now(), pair_->address(1 - side), options);
    EXPECT_TRUE(id);
    return id ? *id : 0;
  }

  Endpoint& end(int side) { return (*pair_)[side]; }
  size_t seen(int side) const { return pair_->notices[side].size(); }
  // The latest notice of each side.
  const Notice& notice(int side) const { return pair_->notices[side].back(); }
  const std::vector<Completion>& ended(int side) const { return pair_->completions[side]; }

  void send(uint64_t offset, uint64_t length, OperationId operation, ChannelId channel = 0) {
    ASSERT_TRUE(end(0).post_send(pair_->now(), {client_, channel}, {memory_[0], offset, length},
                                 operation));
  }
  void receive(uint64_t offset, uint64_t length, OperationId operation, ChannelId channel = 0) {
    ASSERT_TRUE(end(1).post_receive(pair_->now(), {server_, channel}, {memory_[1], offset, length},
                                    operation));
  }
  bool run_until_completed(size_t sent, size_t received, Nanos limit = seconds(30)) {
    return pair_->run_until([&] { return ended(0).size() >= sent && ended(1).size() >= received; },
                            limit);
  }
  bool run_until_closed(Nanos limit) {
    return pair_->run_until(
        [this] { return end(0).connections() == 0 && end(1).connections() == 0; }, limit);
  }
  // Sends one message each way of nothing in particular; true: both arrived.
  bool exchange(OperationId operation) {
    const size_t sent = ended(0).size();
    const size_t received = ended(1).size();
    receive(0, 1000, operation);
    send(0, 1000, operation);
    return run_until_completed(sent + 1, received + 1, seconds(2)) && ended(0).back().ok &&
           ended(1).back().ok;
  }
  bool same(uint64_t offset, uint64_t length) {
    return std::memcmp(pair_->region(0, memory_[0]).data() + offset,
                       pair_->region(1, memory_[1]).data() + offset, length) == 0;
  }

  std::unique_ptr<Pair> pair_;
  RegionId memory_[2] = {0, 0};
  ConnectionId client_ = 0;
  ConnectionId server_ = 0;
};

}  // namespace heddle::transport::testing
