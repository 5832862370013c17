// The receiver of probes counts and answers what the NICs of its round send, and nothing else.
#include "measure/probe_receiver.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "datapath/probe_socket.h"
#include "datapath/resolve.h"
#include "measure/probe_packet.h"
#include "measure/probe_params.h"

namespace heddle::measure {
namespace {

constexpr uint64_t kRun = 0x1234'5678'9abc;
// Tests run in processes of their own, several at a time.
const auto kPort = static_cast<uint16_t>(10'000 + getpid() % 5'000 * 4);
const auto kFirstPort = static_cast<uint16_t>(kPort + 1);

probing::RoundSpec two_nics() {
  return {.run = kRun,
          .port = kPort,
          .first_port = kFirstPort,
          .ports = 2,
          .lasts = seconds(600),
          .nics = {{0, "127.0.0.2"}, {1, "127.0.0.1"}}};
}

datapath::ProbeSocket socket_at(const std::string& host, uint16_t port) {
  return datapath::ProbeSocket::open(*datapath::resolve(host, port)).value();
}

ProbePacket packet_of(probing::TaskKind kind, uint16_t from, uint16_t to) {
  ProbePacket packet;
  packet.kind = static_cast<uint8_t>(kind);
  packet.run = kRun;
  packet.from = from;
  packet.to = to;
  return packet;
}

// What the receiver counts of what `send` sends to NIC 1.
probing::Observations received(const std::function<void(const transport::Address&)>& send) {
  const transport::Address to = *datapath::resolve("127.0.0.1", kPort);
  int turns = 0;
  const auto part = receive_probes(
      two_nics(), [&] { send(to); }, [&] { return ++turns > 2; });
  EXPECT_TRUE(part.has_value()) << part.error().message();
  return part ? *part : probing::Observations{};
}

TEST(ProbeReceiverTest, AnEmptyDatagramOfAStrangerIsNotThePreviousProbe) {
  datapath::ProbeSocket nic = socket_at("127.0.0.2", kFirstPort);
  datapath::ProbeSocket stranger = socket_at("127.0.0.3", static_cast<uint16_t>(kFirstPort + 1));
  const auto part = received([&](const transport::Address& to) {
    const auto probe = packet_of(probing::TaskKind::kTrace, 0, 1).bytes();
    nic.send(to, params::kHopLimit, probe);
    for (int i = 0; i < 5; ++i) stranger.send(to, params::kHopLimit, {});
  });
  EXPECT_EQ(part.flows.size(), 1u);
  datapath::ProbeArrival answer;
  EXPECT_FALSE(stranger.receive(answer));
  EXPECT_TRUE(nic.receive(answer));
}

TEST(ProbeReceiverTest, AProbeFromAnotherAddressThanItsNicIsIgnored) {
  datapath::ProbeSocket nic = socket_at("127.0.0.2", kFirstPort);
  datapath::ProbeSocket stranger = socket_at("127.0.0.3", kFirstPort);
  const auto part = received([&](const transport::Address& to) {
    const auto probe = packet_of(probing::TaskKind::kDeliver, 0, 1).bytes();
    nic.send(to, params::kHopLimit, probe);
    stranger.send(to, params::kHopLimit, probe);
  });
  ASSERT_EQ(part.flows.size(), 1u);
  EXPECT_EQ(part.flows.begin()->second.delivered, 1u);
}

TEST(ProbeReceiverTest, AReceiverThatNothingEndsIsAnErrorAndLosesNoProbesSilently) {
  probing::RoundSpec spec = two_nics();
  spec.lasts = nanos(1);
  const auto part = receive_probes(
      spec, [] {}, [] { return false; });
  ASSERT_FALSE(part.has_value());
  EXPECT_EQ(part.error().code, ErrorCode::kTimeout);
}

TEST(ProbeReceiverTest, AProbeFromAnotherPortThanTheRoundsIsIgnored) {
  datapath::ProbeSocket nic = socket_at("127.0.0.2", static_cast<uint16_t>(kFirstPort + 2));
  const auto part = received([&](const transport::Address& to) {
    nic.send(to, params::kHopLimit, packet_of(probing::TaskKind::kDeliver, 0, 1).bytes());
  });
  EXPECT_TRUE(part.flows.empty());
}

TEST(ProbeReceiverTest, ADoubledPacketCountsOnce) {
  datapath::ProbeSocket nic = socket_at("127.0.0.2", kFirstPort);
  const auto part = received([&](const transport::Address& to) {
    const auto probe = packet_of(probing::TaskKind::kDeliver, 0, 1).bytes();
    for (int i = 0; i < 3; ++i) nic.send(to, params::kHopLimit, probe);
  });
  ASSERT_EQ(part.flows.size(), 1u);
  EXPECT_EQ(part.flows.begin()->second.delivered, 1u);
}

}  // namespace
}  // namespace heddle::measure
