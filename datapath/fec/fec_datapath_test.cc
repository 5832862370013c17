// Forward error correction around a datapath in memory: who is sent parity, what it covers, and
// that the datagrams themselves stay as they are.
#include "datapath/fec/fec_datapath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "datapath/fec/testing/fake_datapath.h"
#include "datapath/fec/testing/packets.h"

namespace heddle::datapath {
namespace {

using transport::kDataHeaderBytes;
using transport::TxBurst;

constexpr uint32_t kPayload = 1000;

bool is_data(const Packet& packet) { return packet[0] == std::byte{0x28}; }
bool is_row(const Packet& packet) { return read_parity(packet).has_value(); }

Packet announcement_of(uint16_t port) {
  const auto announcement = write_announcement(port);
  return {announcement.begin(), announcement.end()};
}

// The row of one member that was never sent.
Packet invented_row() {
  Packet row(300);
  write_parity_header(
      {.list = {.connection = 5, .members = 1, .run_count = 1, .runs = {{{0, 1, 1}}}}}, row);
  return row;
}

transport::PacketKey key_for(transport::PacketKey::Use use) {
  const std::array<std::byte, transport::PacketKey::kKeyBytes> secret{std::byte{9}};
  const std::array<std::byte, transport::PacketKey::kIvBytes> iv{};
  return {secret, iv, use};
}

class FecDatapathTest : public testing::Test {
 protected:
  // One side; with parity or plain.
  struct Side {
    FakeDatapath* wire = nullptr;
    std::unique_ptr<Datapath> datapath;
    std::vector<std::byte> memory = std::vector<std::byte>(size_t{1} << 16);
    transport::RegionId region = transport::kNoRegion;
    uint64_t next = 1;
  };

  void open(FecOptions a, FecOptions b, uint32_t max_datagram_bytes = 1472) {
    open(a_, 1, a, max_datagram_bytes);
    open(b_, 2, b, max_datagram_bytes);
    a_.wire->set_peer(*b_.wire);
    b_.wire->set_peer(*a_.wire);
  }
  void open(Side& side, uint8_t host, FecOptions options, uint32_t max_datagram_bytes) {
    auto wire = std::make_unique<FakeDatapath>(host, max_datagram_bytes);
    side.wire = wire.get();
    if (options.on()) {
      side.datapath = *with_fec(std::move(wire), options);
    } else {
      side.datapath = std::move(wire);
    }
    for (size_t i = 0; i < side.memory.size(); ++i) {
      side.memory[i] = static_cast<std::byte>(i * 7 + i / 256);
    }
    side.region = *side.datapath->register_memory(side.memory.data(), side.memory.size());
  }

  TxBurst burst_of(Side& from, uint16_t segments) {
    headers_.resize(size_t{segments} * kDataHeaderBytes);
    for (uint32_t i = 0; i < segments; ++i) {
      const Packet header = data_packet(3, from.next++, kDataHeaderBytes);
      std::ranges::copy(header, headers_.begin() + i * kDataHeaderBytes);
    }
    TxBurst burst;
    burst.to = (&from == &a_ ? b_ : a_).wire->local_address();
    burst.connection = 1;
    burst.path = 3;
    burst.segments = segments;
    burst.header_bytes = kDataHeaderBytes;
    burst.headers = headers_.data();
    burst.payload_bytes = kPayload;
    burst.last_payload_bytes = kPayload - 100;
    burst.region = from.region;
    burst.offset = 64;
    return burst;
  }
  void send(Side& from, uint16_t segments) {
    const TxBurst burst = burst_of(from, segments);
    ASSERT_EQ(from.datapath->transmit({&burst, 1}), 1u);
  }
  // All datagrams that its caller sees.
  std::vector<Packet> receive(Side& at) {
    std::vector<Packet> seen;
    while (at.datapath->receive(batch_, nullptr) > 0) {
      for (size_t i = 0; i < batch_.count; ++i) {
        const transport::RxRun& run = batch_.runs[i];
        for (uint32_t s = 0; s < run.segments; ++s) {
          const std::byte* from = run.frame + size_t{s} * run.step();
          const bool last = s + 1 == run.segments;
          seen.emplace_back(from, from + (last ? run.last_segment_bytes : run.segment_bytes));
        }
      }
      at.datapath->release(batch_);
    }
    return seen;
  }
  // Both know that the other reads parity.
  void meet() {
    send(a_, 1);
    send(b_, 1);
    receive(a_);
    receive(b_);
    a_.wire->sent.clear();
    b_.wire->sent.clear();
  }

  Side a_;
  Side b_;
  std::vector<std::byte> headers_;
  RxBatch batch_;
};

TEST_F(FecDatapathTest, LostPacketsAreRebuiltFromParity) {
  open({4, 2}, {8, 1});
  meet();
  std::vector<Packet> wanted;
  a_.wire->drops = [&](const Packet& packet) {
    if (!is_data(packet)) return false;
    wanted.push_back(packet);
    return wanted.size() == 2 || wanted.size() == 4;
  };
  send(a_, 4);
  std::vector<Packet> seen = receive(b_);
  std::ranges::sort(seen);
  std::ranges::sort(wanted);
  EXPECT_EQ(seen, wanted);
  EXPECT_EQ(b_.datapath->statistics().rebuilt, 2u);
  EXPECT_EQ(b_.datapath->statistics().parity_received, 2u);
  EXPECT_EQ(a_.datapath->statistics().parity_sent, 2u);
}

TEST_F(FecDatapathTest, APeerWithoutItGetsNoParity) {
  open({4, 2}, {});
  for (int i = 0; i < 50; ++i) {
    send(a_, 4);
    send(b_, 1);
    receive(a_);
    a_.wire->clock = a_.wire->clock + millis(200);
  }
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_row), 0);
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_data), 200);
  // Announcements: few, and such as endpoints of before drop without an answer.
  const auto others = static_cast<int64_t>(a_.wire->sent.size()) - 200;
  EXPECT_GT(others, 0);
  EXPECT_LT(others, 25);
}

TEST_F(FecDatapathTest, DatagramsStayAsTheyAre) {
  open({4, 1}, {4, 1});
  meet();
  send(a_, 4);
  std::erase_if(a_.wire->sent, [](const Packet& each) { return read_announcement(each); });
  ASSERT_EQ(a_.wire->sent.size(), 5u);
  for (size_t i = 0; i < 4; ++i) {
    const size_t bytes = kDataHeaderBytes + kPayload - (i == 3 ? 100 : 0);
    ASSERT_EQ(a_.wire->sent[i].size(), bytes);
    EXPECT_TRUE(std::equal(a_.wire->sent[i].begin() + kDataHeaderBytes, a_.wire->sent[i].end(),
                           a_.memory.begin() + static_cast<ptrdiff_t>(64 + i * kPayload)));
  }
  EXPECT_TRUE(is_row(a_.wire->sent[4]));
  EXPECT_LE(a_.wire->sent[4].size(), kDataHeaderBytes + kPayload + kMostParityOverhead);
}

TEST_F(FecDatapathTest, AGroupThatWaitsIsSentWhenNothingFollows) {
  open({10, 2}, {10, 2});
  meet();
  a_.wire->clock = a_.wire->clock + seconds(1);
  a_.datapath->wait(Nanos::never());
  a_.wire->sent.clear();
  send(a_, 3);
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_row), 0);
  a_.datapath->wait(Nanos::never());
  EXPECT_EQ(a_.wire->waited_until, a_.wire->clock + fec_params::kIdle);
  a_.wire->clock = a_.wire->clock + fec_params::kIdle;
  a_.datapath->wait(Nanos::never());
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_row), 1);
  EXPECT_EQ(a_.wire->waited_until, Nanos::never());
}

TEST_F(FecDatapathTest, ABurstRetriedAfterARefusalIsNotEncryptedAgain) {
  open({4, 1}, {4, 1});
  meet();
  transport::PacketKey key = key_for(transport::PacketKey::Use::kEncrypt);
  transport::PacketKey other = key_for(transport::PacketKey::Use::kDecrypt);
  TxBurst burst = burst_of(a_, 3);
  burst.key = &key;
  const std::vector<std::byte> before = a_.memory;
  a_.wire->refuses = 1;
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 0u);
  std::ranges::fill(a_.memory, std::byte{0});  // a second encryption would take this
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 1u);
  ASSERT_EQ(std::ranges::count_if(a_.wire->sent, is_data), 3);
  for (size_t i = 0; i < 3; ++i) {
    Packet packet = a_.wire->sent[i];
    ASSERT_EQ(packet.size(), burst.header_bytes + kPayload + 16 - (i == 2 ? 100 : 0));
    ASSERT_TRUE(transport::decrypt_segment(other, packet));
    EXPECT_TRUE(std::equal(packet.begin() + kDataHeaderBytes, packet.end() - 16,
                           before.begin() + static_cast<ptrdiff_t>(64 + i * kPayload)));
  }
}

TEST_F(FecDatapathTest, EncryptedPacketsAreRebuiltAsTheyLeft) {
  open({3, 1}, {3, 1});
  meet();
  transport::PacketKey key = key_for(transport::PacketKey::Use::kEncrypt);
  transport::PacketKey other = key_for(transport::PacketKey::Use::kDecrypt);
  TxBurst burst = burst_of(a_, 3);
  burst.key = &key;
  uint32_t count = 0;
  a_.wire->drops = [&](const Packet& packet) { return is_data(packet) && ++count == 3; };
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 1u);
  std::vector<Packet> seen = receive(b_);
  ASSERT_EQ(seen.size(), 3u);
  for (Packet& packet : seen) EXPECT_TRUE(transport::decrypt_segment(other, packet));
}

TEST_F(FecDatapathTest, NothingLeavesBetweenARefusalAndItsRetry) {
  open({10, 1}, {10, 1});
  meet();
  send(a_, 3);
  a_.wire->sent.clear();
  const TxBurst burst = burst_of(a_, 2);
  a_.wire->refuses = 1;
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 0u);
  a_.wire->clock = a_.wire->clock + seconds(1);
  a_.datapath->wait(Nanos::never());
  receive(a_);
  EXPECT_TRUE(a_.wire->sent.empty());
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 1u);
  ASSERT_GE(a_.wire->sent.size(), 2u);
  EXPECT_TRUE(is_data(a_.wire->sent[0]) && is_data(a_.wire->sent[1]));
}

TEST_F(FecDatapathTest, ProbesAreNotCovered) {
  open({1, 1}, {1, 1});
  meet();
  TxBurst burst = burst_of(a_, 1);
  burst.tests_path = true;
  a_.datapath->transmit({&burst, 1});
  burst.tests_path = false;
  burst.hop_limit = 3;
  a_.datapath->transmit({&burst, 1});
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_row), 0);
  burst.hop_limit = 0;
  a_.datapath->transmit({&burst, 1});
  EXPECT_EQ(std::ranges::count_if(a_.wire->sent, is_row), 1);
}

TEST_F(FecDatapathTest, ParityLeavesRunsWhereverItIsInThem) {
  open({4, 1}, {4, 1});
  meet();
  std::vector<Packet> wanted;
  for (uint64_t i = 0; i < 6; ++i) wanted.push_back(data_packet(1, 100 + i, 300));
  const Packet row = invented_row();
  for (const size_t place : {0, 1, 5, 6}) {
    for (const size_t second : {0, 3, 7}) {
      std::vector<Packet> arriving = wanted;
      arriving.back().resize(200);
      const Packet last = arriving.back();
      arriving.insert(arriving.begin() + static_cast<ptrdiff_t>(place), row);
      arriving.insert(arriving.begin() + static_cast<ptrdiff_t>(second), row);
      b_.wire->coalesces = true;
      b_.wire->inbox.assign(arriving.begin(), arriving.end());
      std::vector<Packet> seen = receive(b_);
      // The row of one member is that member.
      std::erase_if(seen,
                    [](const Packet& each) { return each.size() != 300 && each.size() != 200; });
      ASSERT_EQ(seen.size(), 6u) << place << ' ' << second;
      for (size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i], wanted[i]);
      EXPECT_EQ(seen[5], last);
    }
  }
}

// They reach the transport, which drops and counts them.
TEST_F(FecDatapathTest, StrangersChangeNothing) {
  open({4, 1}, {4, 1});
  // b has sent nothing: a is a stranger to it.
  const std::vector<Packet> sent = {announcement_of(4791), invented_row(), data_packet(0, 1, 300),
                                    Packet{transport::kParityFirstByte}};
  for (const bool coalesces : {false, true}) {
    b_.wire->coalesces = coalesces;
    b_.wire->inbox.assign(sent.begin(), sent.end());
    EXPECT_EQ(receive(b_), sent);
  }
  EXPECT_EQ(b_.datapath->statistics().parity_received, 0u);
  send(b_, 4);
  EXPECT_EQ(std::ranges::count_if(b_.wire->sent, is_row), 0);
  // So do those of other hosts when b has peers.
  receive(a_);
  send(a_, 1);
  receive(b_);
  b_.wire->from_host = 77;
  b_.wire->inbox.assign(sent.begin(), sent.end());
  EXPECT_EQ(receive(b_), sent);
  b_.wire->from_host = 0;
  b_.wire->inbox.assign(sent.begin(), sent.end());
  const std::vector<Packet> seen = receive(b_);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0], sent[2]);
}

// Once each removed datagram moved all that were behind it.
TEST_F(FecDatapathTest, RemovedParityLeavesTheOtherDatagramsInTheirPlaces) {
  open({4, 1}, {4, 1});
  meet();
  b_.wire->coalesces = true;
  for (uint32_t pattern = 0; pattern < 256; ++pattern) {
    std::vector<Packet> wanted;
    for (uint32_t i = 0; i < 8; ++i) {
      Packet packet = data_packet(1, 100 + i, i == 7 ? 200 : 300);
      if ((pattern >> i & 1) != 0) packet[0] = transport::kParityFirstByte;
      if ((pattern >> i & 1) == 0) wanted.push_back(packet);
      b_.wire->inbox.push_back(packet);
    }
    ASSERT_EQ(b_.datapath->receive(batch_, nullptr), wanted.empty() ? 0u : 1u);
    if (!wanted.empty()) {
      const transport::RxRun& run = batch_.runs[0];
      ASSERT_EQ(run.segments, wanted.size());
      ASSERT_EQ(run.step(), 300u);
      for (uint32_t i = 0; i < run.segments; ++i) {
        const std::byte* from = run.frame + size_t{i} * 300;
        ASSERT_TRUE(std::equal(wanted[i].begin(), wanted[i].end(), from)) << pattern;
      }
      ASSERT_EQ(run.last_segment_bytes, wanted.back().size());
      b_.datapath->release(batch_);
    }
  }
}

// Once each went down alone, as those of which parity is made must.
TEST_F(FecDatapathTest, BurstsToPeersWithoutItGoDownTogether) {
  open({4, 1}, {});
  send(a_, 1);  // with the announcement
  std::vector<TxBurst> bursts(7, burst_of(a_, 2));
  bursts[4].payload_bytes = 1472;  // too large
  a_.wire->transmit_calls = 0;
  ASSERT_EQ(a_.datapath->transmit(bursts), bursts.size());
  EXPECT_EQ(a_.wire->transmit_calls, 2u);
  for (size_t i = 0; i < bursts.size(); ++i) EXPECT_EQ(a_.datapath->unsent(i), i == 4 ? 2u : 0u);
  a_.wire->refuses = 1;
  EXPECT_EQ(a_.datapath->transmit(bursts), 0u);
  transport::NetworkError error;
  ASSERT_TRUE(a_.datapath->poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kTooLarge);
  EXPECT_FALSE(a_.datapath->poll_error(error));  // it was not reported before its turn
}

// A peer may send as much parity as data, and the transport counts the data only.
TEST_F(FecDatapathTest, TheReceiveCapacityLeavesSpaceForParity) {
  open({32, 1}, {});
  EXPECT_EQ(a_.wire->capabilities().receive_capacity, mebibytes(4));
  EXPECT_EQ(a_.datapath->capabilities().receive_capacity, mebibytes(2));
}

// Every network passes 1,200 bytes, and the transport relies on it.
TEST_F(FecDatapathTest, TheLeastDatagramOfANetworkPassesWithItsParity) {
  open({4, 1}, {4, 1}, 1'232);
  ASSERT_EQ(a_.datapath->capabilities().max_datagram_bytes, 1'200u);
  meet();
  TxBurst burst = burst_of(a_, 4);
  burst.payload_bytes = burst.last_payload_bytes = 1'200 - kDataHeaderBytes;
  std::vector<Packet> wanted;
  a_.wire->drops = [&](const Packet& packet) {
    if (is_data(packet)) wanted.push_back(packet);
    EXPECT_LE(packet.size(), 1'232u);
    return is_data(packet) && wanted.size() == 2;
  };
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 1u);
  EXPECT_EQ(a_.datapath->unsent(0), 0u);
  std::vector<Packet> seen = receive(b_);
  std::ranges::sort(seen);
  std::ranges::sort(wanted);
  EXPECT_EQ(seen, wanted);
}

TEST_F(FecDatapathTest, DatagramsLeaveSpaceForParity) {
  open({4, 1}, {4, 1});
  const uint32_t most = a_.datapath->capabilities().max_datagram_bytes;
  EXPECT_EQ(most, 1472 - kMostParityOverhead);
  EXPECT_FALSE(a_.datapath->capabilities().predicts);
  TxBurst burst = burst_of(a_, 2);
  burst.payload_bytes = most - kDataHeaderBytes + 1;
  ASSERT_EQ(a_.datapath->transmit({&burst, 1}), 1u);
  EXPECT_EQ(a_.datapath->unsent(0), 2u);
  transport::NetworkError error;
  ASSERT_TRUE(a_.datapath->poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kTooLarge);
  EXPECT_EQ(error.limit_bytes, most);
}

TEST_F(FecDatapathTest, ErrorsOfParityAreKeptFromTheTransport) {
  open({4, 1}, {4, 1});
  transport::NetworkError error;
  error.quoted_bytes = 28;
  error.quoted[0] = transport::kParityFirstByte;
  a_.wire->errors.push_back(error);
  EXPECT_FALSE(a_.datapath->poll_error(error));
  error.quoted[0] = std::byte{0x28};
  a_.wire->errors.push_back(error);
  EXPECT_TRUE(a_.datapath->poll_error(error));
}

TEST(FecOptions, TheTextIsCheckedWhole) {
  for (const char* good : {"off", "1:1", "10:2", "32:8"}) {
    const auto options = parse_fec(good);
    ASSERT_TRUE(options.has_value()) << good;
    EXPECT_EQ(to_text(*options), good);
  }
  for (const char* bad : {"", "on", "10", "10:", ":2", "0:0", "10:0", "33:1", "32:9", "2:3",
                          "10:2x", " 10:2", "-1:1", "10:2:1", "4294967297:1"}) {
    const auto options = parse_fec(bad);
    ASSERT_FALSE(options.has_value()) << bad;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_FALSE(options.error().todo.empty());
  }
}

}  // namespace
}  // namespace heddle::datapath
