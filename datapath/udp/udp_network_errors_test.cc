// Errors that the network reports: refused, unreachable, too large, full. Where needed, a test has
// a private network with rules that cause the error.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "datapath/resolve.h"
#include "datapath/udp/socket_address.h"
#include "datapath/udp/testing/ends.h"
#include "datapath/udp/testing/private_network.h"

namespace heddle::datapath {
namespace {

using transport::Address;
using transport::NetworkError;
using transport::NetworkErrorKind;
using transport::TxBurst;

UdpOptions at(const char* bind, uint32_t mtu_bytes = 0) {
  UdpOptions options;
  options.bind = bind;
  options.paths = 4;
  options.mtu_bytes = mtu_bytes;
  return options;
}

class UdpNetworkErrorsTest : public testing::Test {
 protected:
  // Runs `body` in a network where `line` has been run. Marks the test as skipped where that is
  // impossible.
  static void in_network(const std::string& line, const std::function<void()>& body) {
    auto network = PrivateNetwork::create();
    if (!network) GTEST_SKIP() << network.error().message();
    if (!line.empty()) {
      const auto done = (*network)->command(line);
      if (!done) GTEST_SKIP() << done.error().message();
    }
    (*network)->run(body);
  }

  static std::unique_ptr<Ends> open(const UdpOptions& options) {
    Result<std::unique_ptr<Ends>> ends = Ends::open(options);
    EXPECT_TRUE(ends.has_value()) << ends.error().message();
    return ends ? std::move(*ends) : nullptr;
  }

  static void expect_error(Ends& ends, NetworkErrorKind kind, const TxBurst& burst,
                           uint32_t limit_bytes = 0) {
    NetworkError error;
    ASSERT_TRUE(ends.error(error));
    EXPECT_EQ(error.kind, kind);
    EXPECT_EQ(error.to, burst.to);
    EXPECT_EQ(error.path, burst.path);
    EXPECT_EQ(error.limit_bytes, limit_bytes);
  }

  static void expect_still_works(Ends& ends) {
    const TxBurst row = ends.row(1, 3, 500);
    for (uint16_t path = 0; path < 4; ++path) {
      TxBurst again = row;
      again.path = path;
      ASSERT_TRUE(ends.send(again));
      EXPECT_EQ(ends.receive_all(3), 3u) << "path " << path;
    }
    NetworkError error;
    EXPECT_FALSE(ends.a().poll_error(error));
  }
};

constexpr const char* kSmallLoopback = "ip link set lo mtu 1500";

TEST_F(UdpNetworkErrorsTest, ARefusalIsFoundByPollingWithoutWaiting) {
  auto ends = open(at("127.0.0.1"));
  TxBurst burst = ends->row(1, 1, 100);
  burst.path = 3;
  {
    auto gone = open_udp(at("127.0.0.1"));
    ASSERT_TRUE(gone.has_value());
    burst.to = (*gone)->local_address();
  }
  ASSERT_TRUE(ends->send(burst));
  // Like a spinning thread, which never waits.
  RxBatch batch;
  NetworkError error;
  bool found = false;
  for (int turn = 0; turn < 100'000 && !found; ++turn) {
    EXPECT_EQ(ends->a().receive(batch, nullptr), 0u);
    found = ends->a().poll_error(error);
  }
  ASSERT_TRUE(found);
  EXPECT_EQ(error.kind, NetworkErrorKind::kRefused);
  EXPECT_EQ(error.to, burst.to);
  EXPECT_EQ(error.path, 3u);
  expect_still_works(*ends);
}

// The kernel reports the error on the next call with the same socket; that call's burst must not be
// lost.
TEST_F(UdpNetworkErrorsTest, ARefusalDoesNotSwallowTheNextBurst) {
  for (const char* bind : {"127.0.0.1", "::1"}) {
    auto ends = open(at(bind));
    Address nobody;
    {
      auto gone = open_udp(at(bind));
      ASSERT_TRUE(gone.has_value());
      nobody = (*gone)->local_address();
    }
    for (int round = 0; round < 20; ++round) {
      TxBurst refused = ends->row(1, 1, 100);
      refused.to = nobody;
      ASSERT_TRUE(ends->send(refused));
      ASSERT_TRUE(ends->send(ends->row(2, 3, 200)));
      ASSERT_EQ(ends->receive_all(3), 3u) << bind << " round " << round;
    }
  }
}

// A veth pair from the host to itself: packets that leave at one end return at the other and are
// forwarded, so the host acts as its own router.
TEST_F(UdpNetworkErrorsTest, TheRouterWhereTheHopLimitEndsIsReported) {
  const std::string line =
      "ip link add out0 type veth peer name back0 && sysctl -w net.ipv4.ip_forward=1 "
      "net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.back0.rp_filter=0 "
      "net.ipv4.conf.back0.accept_local=1 net.ipv4.icmp_ratelimit=0 "
      "net.ipv4.icmp_errors_use_inbound_ifaddr=1 "
      "net.ipv6.conf.all.forwarding=1 net.ipv6.icmp.ratelimit=0 && "
      "ip link set out0 up && ip link set back0 up && "
      "ip addr add 10.1.0.1/24 dev out0 && ip addr add 10.2.0.1/24 dev back0 && "
      "ip addr add fd01::1/64 dev out0 nodad && ip addr add fd02::1/64 dev back0 nodad && "
      "MAC=$(ip -br link show back0 | awk '{print $3}') && "
      "ip neigh add 10.1.0.2 lladdr $MAC dev out0 && ip neigh add fd01::2 lladdr $MAC dev out0 && "
      "ip route add 10.9.0.0/16 via 10.1.0.2 && ip -6 route add fd09::/64 via fd01::2";
  in_network(line, [] {
    auto ends = open(at(""));
    for (const auto& [host, router] :
         {std::pair{"10.9.0.9", "10.2.0.1"}, std::pair{"fd09::9", "fd01::1"}}) {
      TxBurst burst = ends->row(2, 1, 100);
      burst.to = *resolve(host, 4791);
      burst.hop_limit = 1;
      ASSERT_TRUE(ends->send(burst));
      NetworkError error;
      ASSERT_TRUE(ends->error(error)) << host;
      EXPECT_EQ(error.kind, NetworkErrorKind::kTimeExceeded);
      EXPECT_EQ(error.to, burst.to);
      EXPECT_EQ(error.path, burst.path);
      EXPECT_EQ(error.router, resolve(router, 0)->host) << host;
      ASSERT_EQ(error.quoted_bytes, error.quoted.size());
      EXPECT_EQ(std::memcmp(error.quoted.data(), burst.headers, error.quoted.size()), 0);
    }
  });
}

TEST_F(UdpNetworkErrorsTest, NoRouteCountsAsAcceptedAndIsReported) {
  in_network("", [] {
    auto ends = open(at(""));
    TxBurst burst = ends->row(1, 2, 100);
    for (const char* host : {"10.9.9.9", "2001:db8::1"}) {
      burst.to = *resolve(host, 4791);
      ASSERT_TRUE(ends->send(burst));
      EXPECT_EQ(ends->a().unsent(0), 2u);
      expect_error(*ends, NetworkErrorKind::kUnreachable, burst);
    }
  });
}

TEST_F(UdpNetworkErrorsTest, AnAddressOfTheWrongFamilyIsReported) {
  auto ends = open(at("127.0.0.1"));
  TxBurst burst = ends->row(1, 1, 100);
  burst.to = *resolve("::1", 4791);
  ASSERT_TRUE(ends->send(burst));
  expect_error(*ends, NetworkErrorKind::kUnreachable, burst);
  expect_still_works(*ends);
}

TEST_F(UdpNetworkErrorsTest, ALocalFirewallIsReported) {
  in_network(
      "nft 'add table inet t; add chain inet t c { type filter hook output priority 0; }; "
      "add rule inet t c ip daddr 127.0.0.9 drop'",
      [] {
        auto ends = open(at("127.0.0.1"));
        TxBurst burst = ends->row(1, 2, 100);
        burst.to = *resolve("127.0.0.9", 4791);
        ASSERT_TRUE(ends->send(burst));
        expect_error(*ends, NetworkErrorKind::kUnreachable, burst);
        expect_still_works(*ends);
      });
}

TEST_F(UdpNetworkErrorsTest, AFirewallOnTheRouteIsReported) {
  in_network(
      "nft 'add table inet t; add chain inet t c { type filter hook input priority 0; }; "
      "add rule inet t c ip daddr 127.0.0.9 udp dport 4791 reject with icmp type host-unreachable'",
      [] {
        auto ends = open(at("127.0.0.1"));
        TxBurst burst = ends->row(1, 2, 100);
        burst.path = 2;
        burst.to = *resolve("127.0.0.9", 4791);
        ASSERT_TRUE(ends->send(burst));
        expect_error(*ends, NetworkErrorKind::kUnreachable, burst);
        expect_still_works(*ends);
      });
}

// The interface's MTU is below the datapath's: the kernel refuses, and the report has the limit.
TEST_F(UdpNetworkErrorsTest, ADatagramAboveTheRoutesMtuIsReportedWithTheLimit) {
  in_network(kSmallLoopback, [] {
    for (const auto& [bind, limit] : {std::pair("127.0.0.1", 1472u), std::pair("::1", 1452u)}) {
      for (const uint16_t segments : {1, 4}) {
        auto ends = open(at(bind, 9000));
        const TxBurst burst = ends->row(1, segments, 8'000);
        ASSERT_TRUE(ends->send(burst)) << bind;
        expect_error(*ends, NetworkErrorKind::kTooLarge, burst, limit);
        const TxBurst fits = ends->row(1, segments, limit - transport::kDataHeaderBytes);
        ASSERT_TRUE(ends->send(fits));
        EXPECT_EQ(ends->receive_all(segments), segments);
        EXPECT_TRUE(ends->a().sender().segments()) << "rows as such were not refused";
        expect_still_works(*ends);
      }
    }
  });
}

TEST_F(UdpNetworkErrorsTest, FragmentableDatagramsAreFragmented) {
  in_network(kSmallLoopback, [] {
    for (const char* bind : {"127.0.0.1", "::1"}) {
      auto ends = open(at(bind, 9000));
      for (const uint16_t segments : {1, 3}) {
        TxBurst burst = ends->row(1, segments, 5'000);
        burst.may_fragment = true;
        ASSERT_TRUE(ends->send(burst));
        EXPECT_EQ(ends->receive_all(segments), segments) << bind;
      }
      const TxBurst whole = ends->row(1, 1, 5'000);
      ASSERT_TRUE(ends->send(whole)) << "not cut just because the burst before might be";
      NetworkError error;
      ASSERT_TRUE(ends->error(error));
      EXPECT_EQ(error.kind, NetworkErrorKind::kTooLarge);
      expect_still_works(*ends);
    }
  });
}

uint16_t internet_checksum(const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < bytes; i += 2) sum += static_cast<uint32_t>(at[i] << 8 | at[i + 1]);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return htons(static_cast<uint16_t>(~sum));
}

// The ICMP message of a router for which a datagram of `burst` is too large.
void send_fragmentation_needed(const TxBurst& burst, uint16_t source_port, uint16_t mtu) {
  struct {
    icmphdr icmp{};
    iphdr ip{};
    udphdr udp{};
  } packet;
  packet.icmp.type = ICMP_DEST_UNREACH;
  packet.icmp.code = ICMP_FRAG_NEEDED;
  packet.icmp.un.frag.mtu = htons(mtu);
  packet.ip.version = 4;
  packet.ip.ihl = 5;
  packet.ip.tot_len = htons(8'000);
  packet.ip.protocol = IPPROTO_UDP;
  packet.ip.saddr = packet.ip.daddr = htonl(INADDR_LOOPBACK);
  packet.udp.source = htons(source_port);
  packet.udp.dest = htons(burst.to.port);
  packet.udp.len = htons(7'980);
  packet.icmp.checksum = internet_checksum(&packet, sizeof packet);
  const Socket raw(::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  ASSERT_GE(raw.descriptor(), 0);
  SocketAddress to;
  ASSERT_TRUE(to_socket_address(burst.to, Family::kIpv4, to));
  ASSERT_EQ(sendto(raw.descriptor(), &packet, sizeof packet, 0,
                   reinterpret_cast<const sockaddr*>(to.bytes.data()), to.length),
            static_cast<ssize_t>(sizeof packet));
}

TEST_F(UdpNetworkErrorsTest, AnIcmpMtuLimitIsReported) {
  in_network("", [] {
    auto ends = open(at("127.0.0.1"));
    TxBurst burst = ends->row(1, 1, 7'000);
    burst.path = 1;
    ASSERT_TRUE(ends->send(burst));
    RxBatch batch;
    ASSERT_TRUE(ends->receive(batch));
    const uint16_t source_port = batch.runs[0].from.port;
    ends->b().release(batch);
    send_fragmentation_needed(burst, source_port, 3'000);
    expect_error(*ends, NetworkErrorKind::kTooLarge, burst, 3'000 - 28);
    expect_still_works(*ends);
    // The transport decides on sizes, not the kernel: larger datagrams may still be sent.
    ASSERT_TRUE(ends->send(ends->row(1, 1, 7'000)));
    EXPECT_EQ(ends->receive_all(1), 1u);
  });
}

// A socket without checksums refuses segmentation, as interfaces without checksum offload do in
// older kernels.
TEST_F(UdpNetworkErrorsTest, AfterRefusedSegmentationBurstsLeaveAsSingleDatagrams) {
  auto ends = open(at("127.0.0.1"));
  const int one = 1;
  ASSERT_EQ(setsockopt(ends->a().sender().path(0).descriptor(), SOL_SOCKET, SO_NO_CHECK, &one,
                       sizeof one),
            0);
  const TxBurst burst = ends->row(1, 6, 1'000);
  ASSERT_TRUE(ends->send(burst));
  EXPECT_EQ(ends->receive_all(6), 6u);
  EXPECT_FALSE(ends->a().sender().segments());
  const uint64_t calls = ends->a().statistics().transmit_calls;
  ASSERT_TRUE(ends->send(burst));
  EXPECT_EQ(ends->receive_all(6), 6u);
  EXPECT_EQ(ends->a().statistics().transmit_calls, calls + 1) << "still all in one call";
  EXPECT_EQ(ends->a().statistics().datagrams_sent, 12u);
  expect_still_works(*ends);
}

// A slow queue: the socket's buffer fills, transmit() refuses, wait() ends when there is room, and
// a burst that was refused halfway continues where it stopped.
TEST_F(UdpNetworkErrorsTest, AFullSocketRefusesBurstsUntilItHasRoom) {
  for (const Offload segmentation : {Offload::kAuto, Offload::kOff}) {
    in_network("tc qdisc add dev lo root tbf rate 60mbit burst 64kb latency 2s", [&] {
      UdpOptions options = at("127.0.0.1", 1500);
      options.segmentation = segmentation;
      auto ends = open(options);
      constexpr uint32_t kRows = 40;
      uint64_t refused = 0;
      for (uint32_t i = 0; i < kRows; ++i) {
        const TxBurst row = ends->row(i * 40, 40, 1'400);
        const Nanos give_up = ends->a().now() + seconds(60);
        while (!ends->send(row)) {
          ++refused;
          ASSERT_LT(ends->a().now(), give_up);
          ends->a().wait(give_up);
        }
        if (i % 20 == 19) {
          ASSERT_EQ(ends->receive_all(800), 800u);
        }
      }
      EXPECT_GT(refused, 0u) << "the test meets no back-pressure";
      EXPECT_LT(refused, 10'000u) << "wait() does not wait";
      EXPECT_EQ(ends->a().statistics().transmit_refused, refused);
      EXPECT_EQ(ends->a().statistics().datagrams_sent, kRows * 40);
      RxBatch batch;
      EXPECT_EQ(ends->b().receive(batch, nullptr), 0u) << "something was sent twice";
    });
  }
}

// A short queue at the interface drops packets: the kernel reports it, no event signals room, and
// every datagram is retried until it is accepted.
TEST_F(UdpNetworkErrorsTest, AFullInterfaceQueueRefusesBurstsUntilItHasRoom) {
  in_network("tc qdisc add dev lo root tbf rate 200mbit burst 20kb limit 30000", [] {
    UdpOptions options = at("127.0.0.1", 1500);
    options.segmentation = Offload::kOff;
    auto ends = open(options);
    constexpr uint32_t kRows = 40;
    const Nanos give_up = ends->a().now() + seconds(60);
    for (uint32_t i = 0; i < kRows; ++i) {
      const TxBurst row = ends->row(i * 20, 20, 1'400);
      while (!ends->send(row)) {
        ASSERT_EQ(ends->a().sender().refusal(), Sender::Refusal::kNoBuffers);
        ASSERT_LT(ends->a().now(), give_up);
        ends->a().wait(give_up);
      }
    }
    EXPECT_GT(ends->a().statistics().transmit_refused, 0u) << "the test meets no back-pressure";
    EXPECT_LT(ends->a().statistics().transmit_refused, 10'000u) << "wait() does not wait";
    EXPECT_EQ(ends->receive_all(kRows * 20), kRows * 20);
    RxBatch batch;
    EXPECT_EQ(ends->b().receive(batch, nullptr), 0u) << "something was sent twice";
  });
}

TEST_F(UdpNetworkErrorsTest, SendPortsDropReceivedDatagrams) {
  auto ends = open(at("127.0.0.1"));
  ASSERT_TRUE(ends->send(ends->row(1, 1, 100)));
  RxBatch batch;
  ASSERT_TRUE(ends->receive(batch));
  TxBurst back = ends->row(1, 1, 100);
  back.to = batch.runs[0].from;
  ends->b().release(batch);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ends->send(back));
  std::array<char, 2'000> bytes{};
  EXPECT_EQ(recv(ends->a().sender().path(0).descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT),
            -1);
  EXPECT_EQ(ends->a().receive(batch, nullptr), 0u);
  NetworkError error;
  EXPECT_FALSE(ends->a().poll_error(error)) << "dropped without a word";
}

}  // namespace
}  // namespace heddle::datapath
