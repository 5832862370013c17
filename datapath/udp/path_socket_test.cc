// A send socket keeps its port and sends to the right destination, whatever it is connected to or
// marked with.
#include "datapath/udp/path_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <map>
#include <memory>
#include <set>

#include "base/descriptor.h"
#include "datapath/resolve.h"
#include "datapath/udp/testing/ends.h"
#include "datapath/udp/testing/private_network.h"

namespace heddle::datapath {
namespace {

using transport::Ecn;
using transport::TxBurst;

UdpOptions at(const char* bind) {
  UdpOptions options;
  options.bind = bind;
  options.paths = 2;
  return options;
}

// Sends `count` single datagrams on path 0 and receives each; returns the sources that b observed.
std::set<transport::Address> send_many(Ends& ends, int count, bool ecn_capable = false) {
  std::set<transport::Address> sources;
  RxBatch batch;
  for (int i = 0; i < count; ++i) {
    TxBurst burst = ends.row(1, 1, 100);
    burst.ecn_capable = ecn_capable;
    EXPECT_TRUE(ends.send(burst));
    EXPECT_TRUE(ends.receive(batch));
    sources.insert(batch.runs[0].from);
    EXPECT_EQ(batch.runs[0].ecn, ecn_capable ? Ecn::kEct0 : Ecn::kNotCapable);
    ends.b().release(batch);
  }
  return sources;
}

TEST(PathSocketTest, ASteadyPeerIsConnectedAndThePortStays) {
  for (const char* bind : {"127.0.0.1", "::1"}) {
    auto ends = Ends::open(at(bind));
    ASSERT_TRUE(ends.has_value());
    std::set<transport::Address> sources = send_many(**ends, 10);
    EXPECT_FALSE((*ends)->a().sender().path(0).connected());
    sources.merge(send_many(**ends, 100));
    EXPECT_TRUE((*ends)->a().sender().path(0).connected());
    EXPECT_FALSE((*ends)->a().sender().path(1).connected());
    EXPECT_EQ(sources.size(), 1u) << bind;
  }
}

// The traffic class byte of the next packet at this socket; -1: none came within a second.
int received_class(int descriptor) {
  std::array<char, 2048> data{};
  iovec vector = {data.data(), data.size()};
  alignas(cmsghdr) std::array<char, 64> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(descriptor, &message, 0) < 0) return -1;
  const cmsghdr* const first = CMSG_FIRSTHDR(&message);
  return first == nullptr ? -1 : static_cast<unsigned char>(*CMSG_DATA(first));
}

TEST(PathSocketTest, EveryPacketHasTheTrafficClassWithAndWithoutEcn) {
  UdpOptions options = at("127.0.0.1");
  options.traffic_class = 0x68;
  auto ends = Ends::open(options);
  ASSERT_TRUE(ends.has_value());
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof own;
  ASSERT_EQ(bind(socket.number(), reinterpret_cast<sockaddr*>(&own), length), 0);
  ASSERT_EQ(getsockname(socket.number(), reinterpret_cast<sockaddr*>(&own), &length), 0);
  const int on = 1;
  const timeval patience = {.tv_sec = 1, .tv_usec = 0};
  ASSERT_EQ(setsockopt(socket.number(), IPPROTO_IP, IP_RECVTOS, &on, sizeof on), 0);
  ASSERT_EQ(setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  for (int i = 0; i < 200; ++i) {
    TxBurst burst = (*ends)->row(1, 1, 100);
    burst.to.port = ntohs(own.sin_port);
    burst.ecn_capable = i >= 50 && i < 150;  // long enough for the mark to move to the socket
    ASSERT_TRUE((*ends)->send(burst));
    ASSERT_EQ(received_class(socket.number()), burst.ecn_capable ? 0x6a : 0x68) << i;
  }
}

TEST(PathSocketTest, ASecondPeerIsReachedFromTheSamePort) {
  auto ends = Ends::open(at("127.0.0.1"));
  ASSERT_TRUE(ends.has_value());
  std::set<transport::Address> sources = send_many(**ends, 100);
  auto third = open_udp(at("127.0.0.1"));
  ASSERT_TRUE(third.has_value());
  for (int round = 0; round < 3; ++round) {
    TxBurst burst = (*ends)->row(1, 1, 100);
    burst.to = (*third)->local_address();
    ASSERT_TRUE((*ends)->send(burst));
    EXPECT_FALSE((*ends)->a().sender().path(0).connected());
    RxBatch batch;
    for (int i = 0; i < 50 && (*third)->receive(batch, nullptr) == 0; ++i) {
      (*third)->wait((*third)->now() + millis(100));
    }
    ASSERT_EQ(batch.count, 1u);
    sources.insert(batch.runs[0].from);
    (*third)->release(batch);
    sources.merge(send_many(**ends, 300));
    EXPECT_TRUE((*ends)->a().sender().path(0).connected());
  }
  EXPECT_EQ(sources.size(), 1u);
}

TEST(PathSocketTest, MarksFollowEachBurst) {
  for (const char* bind : {"127.0.0.1", "::1", ""}) {
    auto ends = Ends::open(at(*bind == '\0' ? "::1" : bind));
    ASSERT_TRUE(ends.has_value());
    // Long sequences make the socket change its own mark; single datagrams between them must keep
    // theirs.
    for (const int count : {1, 1, 3, 80, 1, 80, 2}) {
      send_many(**ends, count, true);
      send_many(**ends, count, false);
    }
  }
}

// Two interfaces, one socket: each peer sees the address of the interface on its route, although
// the socket was connected to the other peer before.
TEST(PathSocketTest, EachPeerSeesTheAddressOfItsOwnInterface) {
  auto network = PrivateNetwork::create();
  if (!network) GTEST_SKIP() << network.error().message();
  const auto made =
      (*network)->command("ip addr add 10.1.0.1/24 dev lo && ip addr add 10.2.0.1/24 dev lo");
  if (!made) GTEST_SKIP() << made.error().message();
  (*network)->run([] {
    auto sender = UdpDatapath::open(at(""));
    ASSERT_TRUE(sender.has_value());
    std::map<std::string, std::unique_ptr<Datapath>> peers;
    for (const char* host : {"10.1.0.1", "10.2.0.1"}) {
      auto peer = open_udp(at(host));
      ASSERT_TRUE(peer.has_value()) << peer.error().message();
      peers[host] = std::move(*peer);
    }
    std::set<uint16_t> ports;
    for (int round = 0; round < 2; ++round) {
      for (auto& [host, peer] : peers) {
        for (int i = 0; i < 100; ++i) {
          const std::byte header[8] = {};
          TxBurst burst;
          burst.to = *resolve(host, peer->local_address().port);
          burst.segments = 1;
          burst.header_bytes = sizeof header;
          burst.headers = header;
          ASSERT_EQ((*sender)->transmit({&burst, 1}), 1u);
          RxBatch batch;
          for (int k = 0; k < 50 && peer->receive(batch, nullptr) == 0; ++k) {
            peer->wait(peer->now() + millis(100));
          }
          ASSERT_EQ(batch.count, 1u);
          ASSERT_EQ(host_text(batch.runs[0].from), host);
          ports.insert(batch.runs[0].from.port);
          peer->release(batch);
        }
        EXPECT_EQ((*sender)->sender().path(0).connected(), round == 0) << "longer each time";
      }
    }
    EXPECT_EQ(ports.size(), 1u);
  });
}

}  // namespace
}  // namespace heddle::datapath
