// Probe sockets over loopback: hop limits, heads and times of datagrams, and refusals.
#include "datapath/probe_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>

#include "base/clocks.h"
#include "datapath/resolve.h"

namespace heddle::datapath {
namespace {

transport::Address at(const char* host, uint16_t port) { return *resolve(host, port); }

bool wait_for(const ProbeSocket& socket) {
  pollfd waiting{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 10'000) == 1;
}

TEST(ProbeSocketTest, ADatagramComesWithItsHopLimitHeadAndTime) {
  for (const char* const host : {"127.0.0.1", "::1"}) {
    Result<ProbeSocket> receiver = ProbeSocket::open(at(host, 28'451));
    if (!receiver) GTEST_SKIP() << receiver.error().message();
    Result<ProbeSocket> sender = ProbeSocket::open(at(host, 28'452));
    ASSERT_TRUE(sender.has_value()) << sender.error().message();
    std::array<std::byte, 500> payload{};
    payload[27] = std::byte{7};
    const Nanos before = wall_now();
    ASSERT_TRUE(sender->send(at(host, 28'451), 9, payload));
    ASSERT_TRUE(wait_for(*receiver));
    ProbeArrival arrival;
    ASSERT_TRUE(receiver->receive(arrival));
    EXPECT_EQ(arrival.hop_limit, 9);
    EXPECT_EQ(arrival.bytes, 500u);
    EXPECT_EQ(arrival.head[27], std::byte{7});
    EXPECT_EQ(arrival.from, at(host, 28'452));
    EXPECT_GE(arrival.at, before - millis(1));
    EXPECT_FALSE(receiver->receive(arrival));
  }
}

TEST(ProbeSocketTest, ARefusalIsAnErrorAndTheNextDatagramLeaves) {
  Result<ProbeSocket> sender = ProbeSocket::open(at("127.0.0.1", 28'453));
  if (!sender) GTEST_SKIP() << sender.error().message();
  const std::array<std::byte, 28> payload{};
  ASSERT_TRUE(sender->send(at("127.0.0.1", 28'454), 64, payload));
  ASSERT_TRUE(wait_for(*sender));
  EXPECT_TRUE(sender->send(at("127.0.0.1", 28'454), 64, payload));
  transport::NetworkError error;
  Nanos when;
  ASSERT_TRUE(sender->take_error(error, when));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kRefused);
  EXPECT_GT(when.count, 0);
}

TEST(ProbeSocketTest, ATakenPortNamesTheOptionsThatChangeIt) {
  Result<ProbeSocket> first = ProbeSocket::open(at("127.0.0.1", 28'455));
  if (!first) GTEST_SKIP() << first.error().message();
  const Result<ProbeSocket> second = ProbeSocket::open(at("127.0.0.1", 28'455));
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_NE(second.error().todo.find("--first-port"), std::string::npos);
}

}  // namespace
}  // namespace heddle::datapath
