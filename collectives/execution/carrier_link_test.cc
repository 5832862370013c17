// Messages over a carrier: what of them arrives, and when they are over.
#include "collectives/execution/carrier_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/execution/slots.h"
#include "engine/testing/endpoint_pair.h"

namespace heddle::collectives {
namespace {

// One stream whose messages arrive when the test lets them.
class HeldCarrier final : public MessageCarrier {
 public:
  uint64_t send(const Stream& stream, uint64_t bytes, std::span<const std::byte> head) override {
    sent_on = stream;
    sent_bytes = bytes;
    head_.assign(head.begin(), head.end());
    return kSend;
  }
  uint64_t receive(const Stream& stream) override {
    received_on = stream;
    return kReceive;
  }
  State look(uint64_t ticket, std::span<std::byte> head) override {
    if (state != State::kWaiting && ticket == kReceive) {
      std::copy_n(head_.begin(), std::min(head.size(), head_.size()), head.begin());
    }
    return state;
  }
  void forget(uint64_t ticket) override { forgotten = ticket; }

  static constexpr uint64_t kSend = 1;
  static constexpr uint64_t kReceive = 2;
  State state = State::kWaiting;
  Stream sent_on;
  Stream received_on;
  uint64_t sent_bytes = 0;
  uint64_t forgotten = 0;

 private:
  std::vector<std::byte> head_;
};

class CarrierLinkTest : public testing::Test {
 protected:
  CarrierLinkTest()
      : endpoints_(engine::make_endpoints({})),
        small_(*endpoints_.client, Signature::kBytes + kSmallBytes),
        there_(carrier_, stream(1, 2), small_),
        back_(carrier_, stream(2, 1), small_) {}

  static MessageCarrier::Stream stream(uint16_t from, uint16_t to) {
    MessageCarrier::Stream made{.communicator = 7, .from = {}, .to = {}};
    made.from.port = from;
    made.to.port = to;
    return made;
  }
  static Message message(bool sends, bool signs, std::vector<std::byte>& memory) {
    Message made;
    made.channel = 3;
    made.sends = sends;
    made.signs = signs;
    made.small = signs && memory.size() <= kSmallBytes;
    made.bytes = memory.size();
    made.memory = memory.data();
    return made;
  }
  Link::Sight::State look(Link& link, Message& message) {
    uint64_t budget = 1 << 20;
    return link.look(message, budget).state;
  }

  engine::EndpointPair endpoints_;
  SlotPool small_;
  HeldCarrier carrier_;
  CarrierLink there_;
  CarrierLink back_;
};

TEST_F(CarrierLinkTest, ASmallMessageArrivesWithItsBytesAndSignature) {
  std::vector<std::byte> memory(100, std::byte{5});
  Message sent = message(true, true, memory);
  sent.signature.number = 9;
  ASSERT_TRUE(there_.post(sent).has_value());
  EXPECT_EQ(carrier_.sent_bytes, 100u);
  EXPECT_EQ(carrier_.forgotten, HeldCarrier::kSend) << "it was copied";
  EXPECT_EQ(look(there_, sent), Link::Sight::State::kDone);

  Message received = message(false, true, memory);
  received.stored = true;
  ASSERT_TRUE(back_.post(received).has_value());
  EXPECT_EQ(carrier_.received_on.from, carrier_.sent_on.from);
  EXPECT_EQ(carrier_.received_on.to, carrier_.sent_on.to);
  EXPECT_EQ(carrier_.received_on.channel, 3);
  EXPECT_EQ(look(back_, received), Link::Sight::State::kWaiting);
  carrier_.state = MessageCarrier::State::kDone;
  uint64_t budget = 1 << 20;
  const Link::Sight sight = back_.look(received, budget);
  ASSERT_EQ(sight.state, Link::Sight::State::kPiece);
  EXPECT_TRUE(received.signature_came);
  EXPECT_EQ(received.signature.number, 9u);
  ASSERT_EQ(sight.piece_bytes, 100u);
  EXPECT_EQ(std::memcmp(sight.piece, memory.data(), 100), 0);
  back_.take(received, 100);
  EXPECT_EQ(look(back_, received), Link::Sight::State::kDone);
  small_.give_back(sent.small_slot);
  small_.give_back(received.small_slot);
}

TEST_F(CarrierLinkTest, ALargeSendIsOverWhenItIsAcknowledged) {
  std::vector<std::byte> memory(kSmallBytes + 1);
  Message sent = message(true, true, memory);
  ASSERT_TRUE(there_.post(sent).has_value());
  EXPECT_EQ(carrier_.sent_bytes, memory.size());
  EXPECT_EQ(look(there_, sent), Link::Sight::State::kWaiting);
  EXPECT_FALSE(sent.touched);
  carrier_.state = MessageCarrier::State::kDone;
  EXPECT_EQ(look(there_, sent), Link::Sight::State::kDone);
  small_.give_back(sent.small_slot);
}

TEST_F(CarrierLinkTest, AMessageThatFailsEndsWithItsError) {
  std::vector<std::byte> memory(10);
  Message received = message(false, false, memory);
  ASSERT_TRUE(back_.post(received).has_value());
  carrier_.state = MessageCarrier::State::kFailed;
  uint64_t budget = 1;
  const Link::Sight sight = back_.look(received, budget);
  EXPECT_EQ(sight.state, Link::Sight::State::kFailed);
  EXPECT_EQ(sight.error, ErrorCode::kTimeout);
}

TEST_F(CarrierLinkTest, AnAbortedMessageIsForgotten) {
  std::vector<std::byte> memory(10);
  Message received = message(false, false, memory);
  ASSERT_TRUE(back_.post(received).has_value());
  EXPECT_TRUE(back_.settled(received));
  EXPECT_EQ(carrier_.forgotten, HeldCarrier::kReceive);
}

}  // namespace
}  // namespace heddle::collectives
