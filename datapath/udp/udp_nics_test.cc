// A UDP datapath over several NICs, represented by several loopback addresses.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "datapath/resolve.h"
#include "datapath/udp.h"
#include "datapath/udp/interface.h"
#include "datapath/udp/testing/private_network.h"

namespace heddle::datapath {
namespace {

UdpOptions at(const std::string& bind, uint16_t port = 0) {
  UdpOptions options;
  options.bind = bind;
  options.port = port;
  options.paths = 3;
  return options;
}

std::unique_ptr<Datapath> open(const std::string& bind) {
  auto made = open_udp(at(bind));
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return made ? std::move(*made) : nullptr;
}

void send(Datapath& from, const transport::Address& to, uint16_t path, uint8_t nic) {
  const std::byte header[8] = {};
  transport::TxBurst burst;
  burst.to = to;
  burst.path = path;
  burst.nic = nic;
  burst.segments = 1;
  burst.header_bytes = sizeof header;
  burst.headers = header;
  ASSERT_EQ(from.transmit({&burst, 1}), 1u);
}

struct Came {
  uint8_t nic = 0;
  std::string from;
  uint16_t port = 0;

  auto operator<=>(const Came&) const = default;
};

// Receives until there are `count` or nothing more arrives.
std::multiset<Came> collect(Datapath& datapath, size_t count) {
  std::multiset<Came> came;
  RxBatch batch;
  for (int i = 0; i < 200 && came.size() < count; ++i) {
    if (datapath.receive(batch, nullptr) == 0) {
      datapath.wait(datapath.now() + millis(50));
      continue;
    }
    for (size_t run = 0; run < batch.count; ++run) {
      const transport::RxRun& each = batch.runs[run];
      for (uint32_t segment = 0; segment < each.segments; ++segment) {
        came.insert({each.nic, host_text(each.from), each.from.port});
      }
    }
    datapath.release(batch);
  }
  return came;
}

TEST(UdpNicsTest, EachNicReceivesAndSendsWithItsOwnAddress) {
  auto a = open("127.0.0.1,127.0.0.2");
  auto b = open("127.0.0.3, 127.0.0.4");
  ASSERT_TRUE(a && b);
  const auto there = b->local_nics();
  ASSERT_EQ(there.size(), 2u);
  EXPECT_EQ(host_text(there[1]), "127.0.0.4");
  EXPECT_EQ(there[0].port, there[1].port);
  EXPECT_EQ(b->local_address(), there[0]);
  std::multiset<Came> expected;
  for (uint8_t nic = 0; nic < 2; ++nic) {
    for (uint16_t path = 0; path < 3; ++path) {
      send(*a, there[1u - nic], path, nic);
      expected.insert({static_cast<uint8_t>(1 - nic), nic == 0 ? "127.0.0.1" : "127.0.0.2",
                       a->source_port(path, nic)});
    }
  }
  EXPECT_EQ(collect(*b, 6), expected);
}

TEST(UdpNicsTest, IPv4AndIPv6NicsWorkTogether) {
  const auto six = open_udp(at("::1"));
  if (!six) GTEST_SKIP() << "this host has no IPv6";
  auto a = open("127.0.0.1,::1");
  auto b = open("127.0.0.1,::1");
  ASSERT_TRUE(a && b);
  send(*a, b->local_nics()[0], 0, 0);
  send(*a, b->local_nics()[1], 0, 1);
  const std::multiset<Came> expected = {{0, "127.0.0.1", a->source_port(0, 0)},
                                        {1, "::1", a->source_port(0, 1)}};
  EXPECT_EQ(collect(*b, 2), expected);
}

TEST(UdpNicsTest, AnInterfaceNameResolvesToItsAddress) {
  const auto made = open_udp(at("lo"));
  ASSERT_TRUE(made.has_value()) << made.error().message();
  EXPECT_EQ(host_text((*made)->local_address()), "127.0.0.1");
}

TEST(UdpNicsTest, AnInterfaceWithoutAddressIsReported) {
  auto network = PrivateNetwork::create();
  if (!network) GTEST_SKIP() << network.error().message();
  ASSERT_TRUE((*network)->command("ip link add hdl0 type veth peer name hdl1"));
  (*network)->run([] {
    const auto made = open_udp(at("lo,hdl0"));
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(made.error().message().find("hdl0"), std::string::npos) << made.error().message();
    EXPECT_FALSE(made.error().todo.empty());
  });
}

TEST(UdpNicsTest, InvalidNicListsAreRejected) {
  const auto refused = [](const std::string& bind, const std::string& part) {
    const auto made = open_udp(at(bind));
    ASSERT_FALSE(made.has_value()) << bind;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
    EXPECT_NE(made.error().message().find(part), std::string::npos) << made.error().message();
    EXPECT_FALSE(made.error().why.empty());
    EXPECT_FALSE(made.error().todo.empty());
  };
  refused("127.0.0.1,127.0.0.1", "127.0.0.1 is named twice");
  refused("127.0.0.1,lo", "127.0.0.1 is named twice");
  refused("127.0.0.1,", "beside a comma");
  refused(",127.0.0.1", "beside a comma");
  refused("127.0.0.1,0.0.0.0", "stands for all");
  std::string many = "127.0.0.1";
  for (int i = 2; i < 11; ++i) many += ",127.0.0." + std::to_string(i);
  refused(many, "there are 10");
}

TEST(UdpNicsTest, APortInUseAtTheSecondNicIsReported) {
  const auto taken = open_udp(at("127.0.0.2"));
  ASSERT_TRUE(taken.has_value());
  const uint16_t port = (*taken)->local_address().port;
  const auto made = open_udp(at("127.0.0.1,127.0.0.2", port));
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::kInUse);
  EXPECT_NE(made.error().message().find("127.0.0.2:" + std::to_string(port)), std::string::npos);
}

}  // namespace
}  // namespace heddle::datapath
