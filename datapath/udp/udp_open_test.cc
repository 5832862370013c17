// Opening a UDP datapath: its capabilities, and every error.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "datapath/resolve.h"
#include "datapath/udp.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/socket_address.h"
#include "datapath/udp/testing/private_network.h"
#include "datapath/udp/udp_datapath.h"

namespace heddle::datapath {
namespace {

UdpOptions at(const std::string& bind, uint16_t port = 0) {
  UdpOptions options;
  options.bind = bind;
  options.port = port;
  options.paths = 2;
  return options;
}

void expect_error(const UdpOptions& options, ErrorCode code, const std::string& part) {
  const Result<std::unique_ptr<Datapath>> made = open_udp(options);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, code) << made.error().message();
  EXPECT_NE(made.error().message().find(part), std::string::npos) << made.error().message();
  EXPECT_FALSE(made.error().why.empty());
  EXPECT_FALSE(made.error().todo.empty());
}

TEST(UdpOpenTest, UsesTheRequestedPort) {
  auto first = open_udp(at("127.0.0.1"));
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const uint16_t port = (*first)->local_address().port;
  EXPECT_NE(port, 0);
  first->reset();
  const auto second = open_udp(at("127.0.0.1", port));
  ASSERT_TRUE(second.has_value()) << second.error().message();
  EXPECT_EQ((*second)->local_address().port, port);
}

TEST(UdpOpenTest, APortInUseIsReported) {
  const auto first = open_udp(at(""));
  ASSERT_TRUE(first.has_value()) << first.error().message();
  const uint16_t port = (*first)->local_address().port;
  expect_error(at("", port), ErrorCode::kInUse, std::to_string(port));
  expect_error(at("127.0.0.1", port), ErrorCode::kInUse, "127.0.0.1:" + std::to_string(port));
}

TEST(UdpOpenTest, AnAddressOfNoInterfaceIsRejected) {
  expect_error(at("203.0.113.7"), ErrorCode::kUnavailable, "203.0.113.7");
  expect_error(at("2001:db8::7"), ErrorCode::kUnavailable, "2001:db8::7");
}

TEST(UdpOpenTest, ImpossibleOptionsAreRejected) {
  UdpOptions options = at("127.0.0.1");
  options.paths = 0;
  expect_error(options, ErrorCode::kInvalid, "0 paths");
  options.paths = 257;
  expect_error(options, ErrorCode::kInvalid, "257 paths");
  options = at("127.0.0.1");
  options.mtu_bytes = 100;
  expect_error(options, ErrorCode::kInvalid, "100 bytes");
  options.mtu_bytes = 70'000;
  expect_error(options, ErrorCode::kInvalid, "70000 bytes");
  options = at("127.0.0.1");
  options.traffic_class = 3;
  expect_error(options, ErrorCode::kInvalid, "belong to ECN");
}

TEST(UdpOpenTest, APrivilegedPortNeedsPrivileges) {
  unsigned first_free = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (first_free <= 1) GTEST_SKIP() << "everybody may use every port here";
  const uid_t before = geteuid();
  constexpr uid_t kNobody = 65'534;
  if (before == 0) {
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  expect_error(at("127.0.0.1", 1), ErrorCode::kPermission, "127.0.0.1:1");
  ASSERT_EQ(seteuid(before), 0);
}

TEST(UdpOpenTest, TooFewDescriptorsAreReported) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  UdpOptions options = at("127.0.0.1");
  options.paths = 200;
  expect_error(options, ErrorCode::kExhausted, "too many files");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(UdpOpenTest, WithoutAnAddressBothProtocolsAreUsed) {
  const auto any = open_udp(at(""));
  ASSERT_TRUE(any.has_value()) << any.error().message();
  EXPECT_TRUE(is_any((*any)->local_address()));
  int reached = 0;
  for (const char* host : {"127.0.0.1", "::1"}) {
    auto other = open_udp(at(host));
    if (!other) continue;  // this host lacks the protocol
    const auto to = resolve(host, (*any)->local_address().port);
    ASSERT_TRUE(to.has_value());
    const std::byte header[8] = {};
    transport::TxBurst burst;
    burst.to = *to;
    burst.segments = 1;
    burst.header_bytes = sizeof header;
    burst.headers = header;
    ASSERT_EQ((*other)->transmit({&burst, 1}), 1u);
    RxBatch batch;
    for (int i = 0; i < 50 && (*any)->receive(batch, nullptr) == 0; ++i) {
      (*any)->wait((*any)->now() + millis(100));
    }
    ASSERT_EQ(batch.count, 1u) << host;
    EXPECT_EQ(host_text(batch.runs[0].from), host);
    (*any)->release(batch);

    burst.to = {};
    burst.to = (*other)->local_address();
    ASSERT_EQ((*any)->transmit({&burst, 1}), 1u);
    for (int i = 0; i < 50 && (*other)->receive(batch, nullptr) == 0; ++i) {
      (*other)->wait((*other)->now() + millis(100));
    }
    EXPECT_EQ(batch.count, 1u) << "from any to " << host;
    ++reached;
  }
  EXPECT_GE(reached, 1);
}

TEST(UdpOpenTest, LoopbackGetsTheJumboMtu) {
  const auto made = open_udp(at("127.0.0.1"));
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->capabilities().max_datagram_bytes, 8972u);
  EXPECT_TRUE((*made)->capabilities().predicts);
}

TEST(UdpOpenTest, SmallDatagramsDisablePredictions) {
  UdpOptions options = at("127.0.0.1");
  options.mtu_bytes = 1500;
  const auto made = open_udp(options);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->capabilities().max_datagram_bytes, 1472u);
  EXPECT_FALSE((*made)->capabilities().predicts);
}

TEST(UdpOpenTest, TheCapacityIsAShareOfTheGrantedBuffer) {
  UdpOptions options = at("127.0.0.1");
  options.receive_buffer = {212'992};  // granted to any process on a default Debian
  const auto made = open_udp(options);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->capabilities().receive_capacity.count, 2u * 212'992 / 4);
}

TEST(UdpOpenTest, OffloadsCanBeTurnedOff) {
  UdpOptions options = at("127.0.0.1");
  options.segmentation = Offload::kOff;
  options.coalescing = Offload::kOff;
  const auto made = open_udp(options);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->capabilities().max_burst_segments, 1u);
  EXPECT_FALSE((*made)->capabilities().receives_runs);
}

TEST(UdpOpenTest, TheMtuComesFromTheInterfaceOfTheAddress) {
  auto network = PrivateNetwork::create();
  if (!network) GTEST_SKIP() << network.error().message();
  const auto made = (*network)->command(
      "ip link add one type veth peer name oneb && ip link set one mtu 4000 up && ip addr add "
      "10.1.0.1/24 dev one"
      " && ip link add two type veth peer name twob && ip link set two mtu 1400 up"
      " && ip addr add 10.2.0.1/24 dev two && ip -6 addr add fd00:2::1/64 dev two nodad");
  if (!made) GTEST_SKIP() << made.error().message();
  const std::pair<const char*, uint32_t> cases[] = {
      {"", 4000 - 28}, {"10.1.0.1", 4000 - 28}, {"10.2.0.1", 1400 - 28}, {"fd00:2::1", 1400 - 48}};
  (*network)->run([&] {
    for (const auto& [bind, bytes] : cases) {
      const auto opened = open_udp(at(bind));
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
      EXPECT_EQ((*opened)->capabilities().max_datagram_bytes, bytes) << bind;
    }
  });
}

TEST(UdpOpenTest, AHostWithoutIpv6SpeaksIpv4) {
  auto network = PrivateNetwork::create();
  if (!network) GTEST_SKIP() << network.error().message();
  const auto off = (*network)->command("sysctl -w net.ipv6.conf.all.disable_ipv6=1");
  if (!off) GTEST_SKIP() << off.error().message();
  (*network)->run([] {
    const auto any = open_udp(at(""));
    ASSERT_TRUE(any.has_value()) << any.error().message();
    expect_error(at("::1"), ErrorCode::kUnavailable, "::1");
  });
}

}  // namespace
}  // namespace heddle::datapath
