// Greetings are read back as they were written, and nothing else is read.
#include "datapath/ud/greeting.h"

#include <gtest/gtest.h>

#include <vector>

#include "transport/wire/packet.h"

namespace heddle::datapath {
namespace {

const Greeting kAsk{.kind = GreetingKind::kAsk,
                    .mtu = 5,
                    .to = 7,
                    .from = 2,
                    .engines = 3,
                    .port = 40'000,
                    .queue_pair = 0xff'ffff,
                    .key = 0x7fff'ffff,
                    .nonce = 0x0123'4567'89ab'cdef};

TEST(GreetingTest, IsReadAsItWasWritten) {
  for (const GreetingKind kind :
       {GreetingKind::kAsk, GreetingKind::kAnswer, GreetingKind::kMoved}) {
    Greeting greeting = kAsk;
    greeting.kind = kind;
    EXPECT_EQ(read_greeting(write_greeting(greeting)), greeting);
  }
}

TEST(GreetingTest, OneOfAnotherLengthIsNotRead) {
  const auto written = write_greeting(kAsk);
  std::vector<std::byte> bytes(written.begin(), written.end());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(read_greeting(bytes));
  for (size_t length = 0; length < kGreetingBytes; ++length) {
    // Of its own size, so that the address sanitizer sees what is read behind it.
    const std::vector<std::byte> shorter(bytes.begin(),
                                         bytes.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_FALSE(read_greeting(shorter)) << length;
  }
}

TEST(GreetingTest, OneWithAFieldOutOfRangeIsNotRead) {
  const struct {
    size_t at;
    uint8_t value;
    const char* what;
  } kCases[] = {{0, 0x2b, "another type"},
                {0, 0x3c, "another version"},
                {1, 1, "another format"},
                {2, 0, "no kind"},
                {2, 4, "an unknown kind"},
                {3, 0, "no MTU"},
                {3, 6, "an unknown MTU"},
                {4, 16, "for an engine that no endpoint has"},
                {5, 3, "an engine that the sender has not"},
                {11, 0, "no engine"},
                {11, 17, "too many engines"},
                {15, 0x80, "a key of the system"}};
  for (const auto& each : kCases) {
    auto bytes = write_greeting(kAsk);
    bytes[each.at] = std::byte{each.value};
    EXPECT_FALSE(read_greeting(bytes)) << each.what;
  }
  auto without_port = write_greeting(kAsk);
  without_port[6] = without_port[7] = std::byte{0};
  EXPECT_FALSE(read_greeting(without_port));
}

// An endpoint without UD drops it, and answers nothing.
TEST(GreetingTest, ItsFirstByteIsOfNoPacketOfTheTransport) {
  using transport::PacketType;
  EXPECT_EQ(transport::version_of(kGreetingFirstByte), transport::kWireVersion);
  for (const PacketType type :
       {PacketType::kInit, PacketType::kRetry, PacketType::kAccept, PacketType::kVersion,
        PacketType::kRefuse, PacketType::kReset, PacketType::kData, PacketType::kControl,
        PacketType::kRetransmission, PacketType::kParity}) {
    EXPECT_NE(transport::type_of(kGreetingFirstByte), type);
  }
}

TEST(GreetingTest, MtusAreThoseOfVerbs) {
  EXPECT_EQ(mtu_bytes(1), 256u);
  EXPECT_EQ(mtu_bytes(3), 1024u);
  EXPECT_EQ(mtu_bytes(5), 4096u);
}

}  // namespace
}  // namespace heddle::datapath
