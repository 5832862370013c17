// LinkPair: the two ends of a link between two ranks of this process, of each kind, for tests of
// what holds for all of them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/execution/network_link.h"
#include "collectives/shared_memory/shared_link.h"
#include "engine/testing/endpoint_pair.h"

namespace heddle::collectives {

// More than a stream's cells hold, so that it is pulled where that is permitted.
inline constexpr uint64_t kLong = SharedLink::kPullFrom + 70'001;

// A message with its memory.
struct TestMessage {
  std::vector<std::byte> bytes;     // sent, or where what came stands
  std::vector<std::byte> combined;  // stored: of the pieces
  std::vector<std::byte> chunk;
  engine::Memory memory;
  engine::Memory chunk_memory;
  Message message;
  bool done = false;
  bool failed = false;
};

class LinkPair {
 public:
  explicit LinkPair(SharedMemory way) {
    endpoints_ = engine::make_endpoints({});
    engine::join(endpoints_);
    for (int side = 0; side < 2; ++side) {
      waits_.push_back(std::make_unique<Waits>(endpoint(side)));
      small_.push_back(std::make_unique<SlotPool>(endpoint(side), Signature::kBytes + kSmallBytes));
    }
    for (int side = 0; side < 2; ++side) {
      buffered_sends_.push_back(std::make_unique<BufferedSends>(endpoint(side), small(side)));
    }
    Descriptor unused;
    memory_ = std::move(Segment::create(unused)).value();
    if (way == SharedMemory::kAuto) {
      for (Side& side : shared().sides) side.pulls = 1;
    }
    for (int side = 0; side < 2; ++side) make(way, side);
  }

  engine::Endpoint& endpoint(int side) {
    return side == 0 ? *endpoints_.client : *endpoints_.server;
  }
  Link& link(int side) { return *links_[static_cast<size_t>(side)]; }
  SharedLink& shared_link(int side) { return static_cast<SharedLink&>(link(side)); }
  Waits& waits(int side) { return *waits_[static_cast<size_t>(side)]; }
  SegmentLayout& shared() { return memory_.shared(); }
  SlotPool& small(int side) { return *small_[static_cast<size_t>(side)]; }

  std::unique_ptr<TestMessage> sending(int side, engine::Channel channel,
                                       std::vector<std::byte> bytes,
                                       const std::optional<Signature>& signature = {}) {
    auto made = to_send(side, channel, std::move(bytes), signature);
    EXPECT_TRUE(link(side).post(made->message));
    return made;
  }
  // The same, but not posted.
  std::unique_ptr<TestMessage> to_send(int side, engine::Channel channel,
                                       std::vector<std::byte> bytes,
                                       const std::optional<Signature>& signature = {}) {
    auto made = std::make_unique<TestMessage>();
    made->bytes = std::move(bytes);
    made->message.sends = true;
    begin(side, channel, signature.has_value(), *made);
    if (signature) made->message.signature = *signature;
    return made;
  }

  std::unique_ptr<TestMessage> receiving(int side, engine::Channel channel, uint64_t bytes,
                                         bool stored, bool signs = false) {
    auto made = std::make_unique<TestMessage>();
    made->bytes.resize(bytes);
    made->message.stored = stored || (signs && bytes <= kSmallBytes);
    begin(side, channel, signs, *made);
    if (stored && !made->message.small) {
      made->chunk.resize(std::max<uint64_t>(bytes, 1));
      made->chunk_memory =
          std::move(endpoint(side).register_memory(made->chunk.data(), made->chunk.size())).value();
      made->message.chunk = {made->chunk.data(), 0, made->chunk_memory.whole()};
    }
    EXPECT_TRUE(link(side).post(made->message));
    return made;
  }

  // One poll; pieces are taken at most `at_most` bytes at a time, or stored elsewhere (`aside`).
  void look(int side, TestMessage& test, uint64_t at_most = UINT64_MAX, bool aside = false) {
    if (test.done || test.failed) return;
    uint64_t budget = 64 << 10;
    const Link::Sight sight = link(side).look(test.message, budget);
    using State = Link::Sight::State;
    test.done = sight.state == State::kDone;
    test.failed = sight.state == State::kFailed;
    if (sight.state != State::kPiece) return;
    if (aside && link(side).set_aside(test.message, budget)) return;
    const uint64_t bytes = std::min(sight.piece_bytes, at_most);
    test.combined.insert(test.combined.end(), sight.piece, sight.piece + bytes);
    link(side).take(test.message, bytes);
  }

  // Everything that is sent between the two is lost, in both directions.
  void set_cut(bool cut) { endpoints_.client_end->set_cut(cut); }

  void drive() {
    for (int side = 0; side < 2; ++side) endpoint(side).progress(Nanos{});
  }

  // Until both have ended.
  void finish(int side, TestMessage& send, TestMessage& receive, uint64_t at_most = UINT64_MAX,
              bool aside = false) {
    const Nanos give_up = endpoint(0).now() + engine::kTestPatience;
    while (!(send.done || send.failed) || !(receive.done || receive.failed)) {
      ASSERT_LT(endpoint(0).now(), give_up);
      look(side, send);
      look(1 - side, receive, at_most, aside);
      drive();
    }
    give_back(side, send);
    give_back(1 - side, receive);
  }

  // Drives both sides until small messages in flight have arrived.
  void settle() {
    const Nanos give_up = endpoint(0).now() + engine::kTestPatience;
    for (const auto& buffered_sends : buffered_sends_) {
      while (!buffered_sends->reap()) {
        ASSERT_LT(endpoint(0).now(), give_up);
        drive();
      }
    }
  }

  void give_back(int side, TestMessage& test) { small(side).give_back(test.message.small_slot); }

 private:
  void begin(int side, engine::Channel channel, bool signs, TestMessage& test) {
    Message& message = test.message;
    message.channel = channel;
    message.signs = signs;
    message.bytes = test.bytes.size();
    message.small = signs && message.bytes <= kSmallBytes;
    message.memory = test.bytes.data();
    if (!link(side).names_memory() || test.bytes.empty()) return;
    test.memory =
        std::move(endpoint(side).register_memory(test.bytes.data(), test.bytes.size())).value();
    message.name = test.memory.whole();
  }

  void make(SharedMemory way, int side) {
    const engine::Connection connection = side == 0 ? endpoints_.to_server : endpoints_.to_client;
    if (way == SharedMemory::kNever) {
      links_.push_back(std::make_unique<NetworkLink>(endpoint(side), connection, small(side),
                                                     *buffered_sends_[static_cast<size_t>(side)]));
      return;
    }
    SharedPair pair;
    pair.segment = Segment::within(shared());
    pair.side = static_cast<uint32_t>(side);
    pair.process = getpid();
    pair.wake = Descriptor(dup(waits(1 - side).wake_descriptor()));
    EXPECT_TRUE(pair.wake.valid());
    links_.push_back(std::make_unique<SharedLink>(
        std::move(pair), SharedSurroundings{endpoint(side), waits(side), small(side), connection}));
  }

  engine::EndpointPair endpoints_;
  std::vector<std::unique_ptr<Waits>> waits_;
  std::vector<std::unique_ptr<SlotPool>> small_;
  std::vector<std::unique_ptr<BufferedSends>> buffered_sends_;
  Segment memory_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace heddle::collectives
