// Levels of protection: both sides agree on one, and an attacker on the path cannot lower it; with
// `headers` everything but the payload of data packets is authenticated.
#include <algorithm>
#include <string>

#include "events/events.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/handshake.h"

namespace heddle::transport::testing {
namespace {

using events::DropReason;

constexpr uint32_t kTagged = kDataHeaderBytes + kTagBytes;

class ProtectionTest : public PairFixture {
 protected:
  static PairOptions protecting(Protection left, Protection right) {
    ClusterKey key;
    key.secret.fill(std::byte{1});
    PairOptions options;
    options.endpoint.keys = {key};
    options.adjust = [left, right](int side, EndpointOptions& endpoint) {
      endpoint.protection = side == 0 ? left : right;
    };
    return options;
  }
  static PairOptions protecting(Protection both) { return protecting(both, both); }
  // Datagrams that do not share runs, and are kept.
  PairOptions recorded(Protection both) {
    PairOptions options = protecting(both);
    options.coalesce = 1;
    options.tamper = [this](int side, std::span<std::byte> frame) {
      if (change_) change_(side, frame);
      sent_.push_back({1 - side, {frame.begin(), frame.end()}});
    };
    return options;
  }
  static bool is_data(std::span<const std::byte> packet) {
    return type_of(packet[0]) == PacketType::kData;
  }
  uint64_t dropped(int side, DropReason reason) {
    return end(side).statistics().drops_by_reason[static_cast<size_t>(reason)];
  }
  uint64_t drops(int side) { return end(side).statistics().datagrams_dropped; }
  void expect_moved(uint64_t bytes) {
    receive(0, bytes, 2);
    send(0, bytes, 1);
    ASSERT_TRUE(run_until_completed(1, 1));
    EXPECT_TRUE(ended(0)[0].ok && ended(1)[0].ok);
    EXPECT_TRUE(same(0, bytes));
  }
  void give(int to, const std::vector<std::byte>& bytes) {
    Address from = pair_->address(1 - to);
    from.port = 1000;
    pair_->inject(to, from, bytes, 1, static_cast<uint32_t>(bytes.size()));
  }
  void expect_refused(Protection ours, Protection theirs) {
    make(protecting(ours, theirs));
    const Nanos began = pair_->now();
    connect();
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) > 0; }, seconds(10)));
    EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
    EXPECT_EQ(notice(0).error.code, ErrorCode::kUnavailable);
    const std::string text = notice(0).error.message();
    EXPECT_NE(text.find("'full'"), std::string::npos) << text;
    EXPECT_NE(text.find("'headers'"), std::string::npos) << text;
    EXPECT_NE(text.find("protection"), std::string::npos) << text;
    EXPECT_EQ(seen(1), 0U);
    EXPECT_EQ(end(1).connections(), 0U);
    EXPECT_LT(pair_->now() - began, seconds(1)) << "a refusal is no time-out";
  }

  struct Packet {
    int to;
    std::vector<std::byte> bytes;
  };
  std::vector<Packet> sent_;
  std::function<void(int side, std::span<std::byte> frame)> change_;
};

TEST_F(ProtectionTest, MessagesOfEverySizeArriveWithHeaders) {
  start(protecting(Protection::kHeaders));
  uint64_t at = 0;
  OperationId operation = 0;
  for (const uint64_t bytes : {0, 1, 400, 1'143, 1'144, 1'145, 5'000, 100'000, 3'000'000}) {
    receive(at, bytes, operation);
    send(at, bytes, operation++);
    at += bytes;
  }
  ASSERT_TRUE(run_until_completed(operation, operation));
  EXPECT_TRUE(same(0, at));
  for (int side = 0; side < 2; ++side) EXPECT_EQ(drops(side), 0U);
  EXPECT_EQ(end(0).statistics(client_)->protection, Protection::kHeaders);
}

TEST_F(ProtectionTest, LossReorderingDuplicationAndNewKeysAreSurvivedWithHeaders) {
  PairOptions options = protecting(Protection::kHeaders);
  options.loss_per_million = 20'000;
  options.late_per_million = 20'000;
  options.twice_per_million = 20'000;
  options.endpoint.packets_a_key = 300;
  start(options);
  expect_moved(8'000'000);
  EXPECT_GT(dropped(1, DropReason::kDuplicate), 0U);
  EXPECT_EQ(dropped(1, DropReason::kBadTag), 0U);
}

TEST_F(ProtectionTest, ASideThatDemandsMoreRefusesLess) {
  expect_refused(Protection::kHeaders, Protection::kFull);
}

TEST_F(ProtectionTest, ASideThatDemandsLessRefusesMore) {
  expect_refused(Protection::kFull, Protection::kHeaders);
}

// An attacker on the path may change the level in a handshake packet: the proof covers it.
TEST_F(ProtectionTest, ALevelThatIsLoweredOnTheWayMakesNoConnection) {
  for (const PacketType type : {PacketType::kInit, PacketType::kAccept}) {
    sent_.clear();
    uint64_t changed = 0;
    change_ = [&](int, std::span<std::byte> frame) {
      if (type_of(frame[0]) != type) return;
      // Parameter 19, one byte: what names the level.
      const std::array<std::byte, 4> sign = {std::byte{19}, {}, std::byte{1}, {}};
      auto at = std::search(frame.begin(), frame.end(), sign.begin(), sign.end());
      ASSERT_NE(at, frame.end());
      at[4] = static_cast<std::byte>(Protection::kHeaders);
      ++changed;
    };
    make(recorded(Protection::kFull));
    connect();
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) > 0; }, seconds(10)));
    EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
    EXPECT_GT(changed, 0U);
    EXPECT_GT(dropped(type == PacketType::kInit ? 1 : 0, DropReason::kBadTag), 0U);
  }
}

// What `headers` does not protect.
TEST_F(ProtectionTest, PayloadThatIsChangedOnTheWayArrivesChangedWithHeaders) {
  change_ = [](int, std::span<std::byte> frame) {
    if (is_data(frame) && frame.size() > kTagged) frame[kTagged] ^= std::byte{0xff};
  };
  start(recorded(Protection::kHeaders));
  receive(0, 5'000, 2);
  send(0, 5'000, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(ended(1)[0].ok);
  EXPECT_FALSE(same(0, 5'000));
  EXPECT_TRUE(same(1, 500)) << "only what was changed";
  EXPECT_EQ(drops(1), 0U);
}

TEST_F(ProtectionTest, PayloadThatIsChangedOnTheWayIsDroppedWithFull) {
  uint32_t left = 3;
  change_ = [&left](int, std::span<std::byte> frame) {
    if (!is_data(frame) || frame.size() <= kTagged || left == 0) return;
    frame[kTagged] ^= std::byte{0xff};
    --left;
  };
  start(recorded(Protection::kFull));
  expect_moved(50'000);
  EXPECT_EQ(dropped(1, DropReason::kBadTag), 3U);
}

// Small messages that travel with frames are part of a control packet.
TEST_F(ProtectionTest, PayloadInAControlPacketIsProtectedWithHeadersToo) {
  bool told = false;
  change_ = [&told](int, std::span<std::byte> frame) {
    if (type_of(frame[0]) != PacketType::kControl || frame.size() < 400 || told) return;
    frame[frame.size() - kTagBytes - 100] ^= std::byte{1};
    told = true;
  };
  start(recorded(Protection::kHeaders));
  // One each way at a time: the answers take acknowledgements along.
  for (OperationId i = 0; i < 50; ++i) {
    const size_t done[2] = {ended(0).size(), ended(1).size()};
    ASSERT_TRUE(end(0).post_receive(pair_->now(), {client_, 0}, {memory_[0], 1 << 20, 600}, i));
    receive(0, 600, i);
    send(0, 600, i);
    ASSERT_TRUE(run_until_completed(done[0] + 1, done[1] + 1));
    ASSERT_TRUE(end(1).post_send(pair_->now(), {server_, 0}, {memory_[1], 0, 600}, i));
    ASSERT_TRUE(run_until_completed(done[0] + 2, done[1] + 2));
    ASSERT_TRUE(same(0, 600));
    ASSERT_EQ(std::memcmp(pair_->region(0, memory_[0]).data() + (1 << 20),
                          pair_->region(0, memory_[0]).data(), 600),
              0);
  }
  ASSERT_TRUE(told) << "no message shared a packet";
  EXPECT_EQ(dropped(0, DropReason::kBadTag) + dropped(1, DropReason::kBadTag), 1U);
}

// The receiver never saw the lost packet, so only its tag shows that it was changed.
TEST_F(ProtectionTest, AChangeOfAnyByteOfAHeaderIsNoticedAndCounted) {
  std::vector<std::byte> lost;
  PairOptions options = protecting(Protection::kHeaders);
  options.coalesce = 1;
  options.drop = [&](int side, const TxBurst& burst, uint32_t segment) {
    if (side != 0 || burst.payload_bytes < 500 || !lost.empty()) return false;
    EXPECT_EQ(burst.key, nullptr) << "payload is not encrypted";
    const std::byte* header = burst.headers + size_t{segment} * burst.header_bytes;
    lost.assign(header, header + burst.header_bytes);
    const std::byte* payload =
        pair_->region(0, burst.region).data() + burst.offset + segment * burst.payload_bytes;
    lost.insert(lost.end(), payload, payload + burst.payload_bytes);
    return true;
  };
  start(options);
  receive(0, 1000, 2);
  send(0, 1000, 1);
  ASSERT_TRUE(pair_->run_until([&] { return !lost.empty(); }, seconds(1)));
  for (size_t at = 0; at < kTagged; ++at) {
    std::vector<std::byte> changed = lost;
    changed[at] ^= std::byte{static_cast<uint8_t>(1U << at % 8)};
    const uint64_t before = drops(1);
    give(1, changed);
    EXPECT_EQ(drops(1), before + 1) << "byte " << at;
  }
  for (size_t bytes = 1; bytes < lost.size(); ++bytes) {
    const uint64_t before = drops(1);
    give(1, {lost.begin(), lost.begin() + static_cast<ptrdiff_t>(bytes)});
    EXPECT_EQ(drops(1), before + 1) << bytes << " bytes";
  }
  EXPECT_EQ(ended(1).size(), 0U);
  give(1, lost);  // and unchanged it is what it was
  EXPECT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(same(0, 1000));
}

// Of a row that arrives as one run, the rest is not lost with what was forged.
TEST_F(ProtectionTest, AForgedHeaderInARowTakesNoOtherAlong) {
  uint32_t left = 5;
  uint32_t segment = 0;
  PairOptions options = protecting(Protection::kHeaders);
  options.watch_burst = [&segment](int, const TxBurst& burst) { segment = burst.datagram_bytes(); };
  options.tamper = [&](int, std::span<std::byte> frame) {
    if (!is_data(frame) || frame.size() < 10 * size_t{segment} || left == 0) return;
    frame[4 * size_t{segment} + kNumberAt + 1] ^= std::byte{1};
    --left;
  };
  start(options, {.paths = 1});
  expect_moved(3'000'000);
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(dropped(1, DropReason::kBadTag), 5U);
  EXPECT_EQ(end(0).statistics(client_)->segments_retransmitted, 5U);
}

TEST_F(ProtectionTest, EveryPacketThatComesAgainChangesNothingAndGetsNoAnswer) {
  start(recorded(Protection::kHeaders));
  expect_moved(60'000);
  pair_->run_for(millis(50));
  const std::vector<Packet> packets = sent_;
  ASSERT_GT(packets.size(), 60U);
  const size_t notices = seen(0) + seen(1);
  for (const Packet& packet : packets) {
    const uint64_t before = drops(packet.to);
    give(packet.to, packet.bytes);
    EXPECT_EQ(drops(packet.to), before + 1);
  }
  pair_->run_for(millis(10));
  EXPECT_EQ(sent_.size(), packets.size());
  EXPECT_EQ(seen(0) + seen(1), notices);
  EXPECT_EQ(ended(0).size() + ended(1).size(), 2U);
}

// A genuine row of which a part was here before: what is new of it is taken.
TEST_F(ProtectionTest, ARowOfWhichAPartWasHereBeforeIsTakenOneByOne) {
  std::vector<std::byte> row;
  uint32_t segments = 0;
  uint32_t bytes = 0;
  PairOptions options = protecting(Protection::kHeaders);
  options.drop = [&](int side, const TxBurst& burst, uint32_t segment) {
    if (side != 0 || burst.segments < 4 || (segments != 0 && segment == 0)) return false;
    if (segment == 0) {
      segments = burst.segments;
      bytes = burst.datagram_bytes();
    } else if (row.size() / bytes != segment) {
      return false;
    }
    const std::byte* header = burst.headers + size_t{segment} * burst.header_bytes;
    row.insert(row.end(), header, header + burst.header_bytes);
    const bool last = segment + 1 == burst.segments;
    const std::byte* payload =
        pair_->region(0, burst.region).data() + burst.offset + segment * burst.payload_bytes;
    row.insert(row.end(), payload,
               payload + (last ? burst.last_payload_bytes : burst.payload_bytes));
    return true;
  };
  start(options, {.paths = 1});
  receive(0, 20'000, 2);
  send(0, 20'000, 1);
  ASSERT_TRUE(pair_->run_until([&] { return segments != 0 && row.size() > bytes; }, seconds(1)));
  const auto second = row.begin() + bytes;
  give(1, {second, second + bytes});
  const uint64_t duplicates = dropped(1, DropReason::kDuplicate);
  Address from = pair_->address(0);
  from.port = 1000;
  pair_->inject(1, from, row, segments, bytes);
  EXPECT_EQ(dropped(1, DropReason::kDuplicate), duplicates + 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(same(0, 20'000));
}

}  // namespace
}  // namespace heddle::transport::testing
