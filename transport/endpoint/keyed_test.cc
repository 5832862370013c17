// Endpoints with cluster keys: messages arrive; a peer without the key gets no answer and changes
// nothing; forged, changed, reflected and replayed packets are counted drops.
#include "events/events.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/handshake.h"

namespace heddle::transport::testing {
namespace {

using events::DropReason;

ClusterKey key_of(uint8_t seed) {
  ClusterKey key;
  key.secret.fill(std::byte{seed});
  return key;
}

class KeyedTest : public PairFixture {
 protected:
  static PairOptions keyed(std::vector<ClusterKey> keys = {key_of(1)}) {
    PairOptions options;
    options.endpoint.keys = std::move(keys);
    return options;
  }
  // Of both sides: what each accepts or connects with.
  static PairOptions keyed_apart(std::vector<ClusterKey> left, std::vector<ClusterKey> right) {
    PairOptions options;
    options.adjust = [left, right](int side, EndpointOptions& endpoint) {
      endpoint.keys = side == 0 ? left : right;
    };
    return options;
  }
  uint64_t dropped(int side, DropReason reason) {
    return end(side).statistics().drops_by_reason[static_cast<size_t>(reason)];
  }
  void expect_moved(uint64_t bytes) {
    receive(0, bytes, 2);
    send(0, bytes, 1);
    ASSERT_TRUE(run_until_completed(1, 1));
    EXPECT_TRUE(ended(0)[0].ok);
    EXPECT_TRUE(ended(1)[0].ok);
    EXPECT_EQ(std::memcmp(pair_->region(0, memory_[0]).data(), pair_->region(1, memory_[1]).data(),
                          bytes),
              0);
  }
  // Behind what was moved already.
  void expect_moved_more() {
    const size_t before[2] = {ended(0).size(), ended(1).size()};
    receive(kMemory / 2, 50'000, 4);
    send(kMemory / 2, 50'000, 3);
    ASSERT_TRUE(run_until_completed(before[0] + 1, before[1] + 1));
    EXPECT_TRUE(ended(0).back().ok && ended(1).back().ok);
  }
  void expect_no_connection() {
    connect();
    ASSERT_TRUE(pair_->run_until([this] { return seen(0) > 0; }, seconds(10)));
    EXPECT_EQ(notice(0).kind, NoticeKind::kClosed);
    EXPECT_EQ(notice(0).error.code, ErrorCode::kTimeout);
    EXPECT_EQ(seen(1), 0U);
    EXPECT_EQ(end(1).connections(), 0U);
  }
};

TEST_F(KeyedTest, MessagesOfEverySizeArrive) {
  start(keyed());
  uint64_t at = 0;
  OperationId operation = 0;
  for (const uint64_t bytes : {0, 1, 400, 1'143, 1'144, 1'145, 5'000, 100'000, 3'000'000}) {
    receive(at, bytes, operation);
    send(at, bytes, operation++);
    at += bytes;
  }
  ASSERT_TRUE(run_until_completed(operation, operation));
  EXPECT_EQ(
      std::memcmp(pair_->region(0, memory_[0]).data(), pair_->region(1, memory_[1]).data(), at), 0);
  EXPECT_EQ(end(0).statistics().datagrams_dropped, 0U);
  EXPECT_EQ(end(1).statistics().datagrams_dropped, 0U);
}

// The initiator requests another cookie after four inits without an answer. The acceptor took that
// request for a replay and was silent until the handshake timed out.
TEST_F(KeyedTest, ManyAcceptsMayBeLost) {
  PairOptions options = keyed();
  int accepts = 0;
  options.drop = [&accepts](int, const TxBurst& burst, uint32_t) {
    return type_of(burst.headers[0]) == PacketType::kAccept && ++accepts <= 5;
  };
  start(options);
  EXPECT_EQ(accepts, 6);
  EXPECT_EQ(end(1).connections(), 1u);
  expect_moved(50'000);
}

TEST_F(KeyedTest, PayloadAndFramesAreUnreadable) {
  PairOptions options = keyed();
  std::vector<std::byte> seen_bytes;
  options.tamper = [&](int, std::span<std::byte> frame) {
    seen_bytes.insert(seen_bytes.end(), frame.begin(), frame.end());
  };
  start(options);
  std::fill_n(pair_->region(0, memory_[0]).begin(), 20'000, std::byte{0x5a});
  expect_moved(20'000);
  const std::vector<std::byte> clear(16, std::byte{0x5a});
  EXPECT_EQ(std::search(seen_bytes.begin(), seen_bytes.end(), clear.begin(), clear.end()),
            seen_bytes.end());
}

TEST_F(KeyedTest, LossReorderingAndDuplicationAreSurvived) {
  PairOptions options = keyed();
  options.loss_per_million = 20'000;
  options.late_per_million = 20'000;
  options.twice_per_million = 20'000;
  options.endpoint.packets_a_key = 300;  // many keys one after another
  start(options);
  expect_moved(8'000'000);
  EXPECT_GT(dropped(1, DropReason::kDuplicate), 0U);
}

TEST_F(KeyedTest, AnotherKeyGetsNoAnswerAndIsCounted) {
  make(keyed_apart({key_of(1)}, {key_of(2)}));
  expect_no_connection();
  EXPECT_GT(dropped(1, DropReason::kNoKey), 0U);
  EXPECT_EQ(end(0).statistics().datagrams_received, 0U);
}

TEST_F(KeyedTest, AClientWithoutAKeyGetsNoAnswer) {
  make(keyed_apart({}, {key_of(1)}));
  expect_no_connection();
  EXPECT_GT(dropped(1, DropReason::kNoKey), 0U);
  EXPECT_EQ(end(0).statistics().datagrams_received, 0U);
}

TEST_F(KeyedTest, AConnectToAPeerWithoutKeysFailsAndNamesTheCause) {
  make(keyed_apart({key_of(1)}, {}));
  expect_no_connection();
  EXPECT_NE(notice(0).error.why.find("the peer has no cluster keys"), std::string::npos);
  EXPECT_GT(dropped(0, DropReason::kBadTag), 0U);
}

TEST_F(KeyedTest, EveryKeyOfTheRingIsAccepted) {
  start(keyed_apart({key_of(2), key_of(1)}, {key_of(1), key_of(2)}));
  expect_moved(100'000);
}

// Every datagram that each side sent, one by one.
class RecordedTest : public KeyedTest {
 protected:
  struct Packet {
    int to;
    std::vector<std::byte> bytes;
  };

  // As KeyedTest, with datagrams that do not share runs.
  PairOptions recorded() {
    PairOptions options = keyed();
    options.coalesce = 1;
    options.tamper = [this](int side, std::span<std::byte> frame) {
      sent_.push_back({1 - side, {frame.begin(), frame.end()}});
    };
    return options;
  }
  // A session from its first packet to its last message.
  void run_session() {
    start(recorded());
    expect_moved(60'000);
    pair_->run_for(millis(50));
  }
  void give(int to, const std::vector<std::byte>& bytes) {
    Address from = pair_->address(1 - to);
    from.port = 1000;
    pair_->inject(to, from, bytes, 1, static_cast<uint32_t>(bytes.size()));
  }
  // The observable state of both sides: a packet without effect leaves it unchanged.
  struct View {
    uint64_t sent;
    size_t notices[2];
    size_t completions[2];
    uint32_t connections[2];
    uint64_t opened[2];
    Nanos timeouts[2];
    bool operator==(const View&) const = default;
  };
  View view() {
    View view{};
    view.sent = sent_.size();
    for (int side = 0; side < 2; ++side) {
      view.notices[side] = seen(side);
      view.completions[side] = ended(side).size();
      view.connections[side] = end(side).connections();
      view.opened[side] = end(side).statistics().connections_opened;
      view.timeouts[side] = end(side).poll_timeout();
    }
    return view;
  }
  uint64_t drops(int side) { return end(side).statistics().datagrams_dropped; }

  std::vector<Packet> sent_;
};

TEST_F(RecordedTest, EveryPacketThatComesAgainChangesNothingAndGetsNoAnswer) {
  run_session();
  const std::vector<Packet> packets = sent_;
  ASSERT_GT(packets.size(), 60U);
  const View before = view();
  for (const Packet& packet : packets) {
    const uint64_t dropped_before = drops(packet.to);
    give(packet.to, packet.bytes);
    EXPECT_EQ(drops(packet.to), dropped_before + 1);
  }
  EXPECT_EQ(view(), before);
  pair_->run_for(millis(10));
  EXPECT_EQ(sent_.size(), before.sent);
  expect_moved_more();
}

TEST_F(RecordedTest, PacketsOfASessionThatIsOverMakeNoOther) {
  run_session();
  end(0).post_close(pair_->now(), client_);
  ASSERT_TRUE(pair_->run_until([this] { return end(0).connections() + end(1).connections() == 0; },
                               seconds(5)));
  const std::vector<Packet> packets = sent_;
  const View before = view();
  for (const Packet& packet : packets) give(packet.to, packet.bytes);
  EXPECT_EQ(view(), before);
  // Where nothing of the handshake is remembered, its first packet is answered as it was, and
  // nothing comes of it.
  pair_->run_for(seconds(60));
  pair_->restart(1);
  for (const Packet& packet : packets) give(packet.to, packet.bytes);
  pair_->run_for(millis(10));
  EXPECT_EQ(sent_.size(), before.sent + 1);
  EXPECT_EQ(end(0).connections() + end(1).connections(), 0U);
  EXPECT_EQ(seen(0), before.notices[0]);
  EXPECT_EQ(seen(1), before.notices[1]);
}

TEST_F(RecordedTest, APacketThatIsSentBackIsNotTakenForThePeers) {
  PairOptions options = recorded();
  options.adjust = [](int, EndpointOptions& endpoint) { endpoint.accept = true; };
  start(options);
  expect_moved(60'000);
  pair_->run_for(millis(50));
  const std::vector<Packet> packets = sent_;
  const View before = view();
  for (const Packet& packet : packets) give(1 - packet.to, packet.bytes);
  EXPECT_EQ(view(), before);
  EXPECT_GT(dropped(0, DropReason::kReplayed), 0U);  // its own init
}

TEST_F(RecordedTest, AChangeOfAnyByteIsNoticed) {
  // The receiver never saw the lost packet, so only its tag shows that it was changed.
  std::vector<std::byte> lost;
  PairOptions again = keyed();
  again.coalesce = 1;
  again.drop = [&](int side, const TxBurst& burst, uint32_t segment) {
    if (side != 0 || burst.key == nullptr || burst.payload_bytes < 500 || !lost.empty()) {
      return false;
    }
    lost.resize(burst.header_bytes + burst.payload_bytes + kTagBytes);
    const std::byte* payload =
        pair_->region(0, burst.region).data() + burst.offset + segment * burst.payload_bytes;
    encrypt_segment(*burst.key, {burst.headers, burst.header_bytes}, {payload, burst.payload_bytes},
                    lost.data());
    return true;
  };
  start(again);
  receive(0, 1000, 2);
  send(0, 1000, 1);
  ASSERT_TRUE(pair_->run_until([&] { return !lost.empty(); }, seconds(1)));
  for (size_t at = 0; at < lost.size(); ++at) {
    std::vector<std::byte> changed = lost;
    changed[at] ^= std::byte{static_cast<uint8_t>(1U << at % 8)};
    const uint64_t dropped_before = drops(1);
    give(1, changed);
    EXPECT_EQ(drops(1), dropped_before + 1) << "byte " << at;
  }
  for (size_t bytes = 1; bytes < lost.size(); ++bytes) {
    give(1, {lost.begin(), lost.begin() + static_cast<ptrdiff_t>(bytes)});
  }
  EXPECT_EQ(ended(1).size(), 0U);
  give(1, lost);  // and unchanged it is what it was
  EXPECT_TRUE(run_until_completed(1, 1));
}

TEST_F(RecordedTest, UnauthenticatedPacketsEndNoConnection) {
  run_session();
  const View before = view();
  std::array<std::byte, kInitBytes> space;
  for (int side = 0; side < 2; ++side) {
    const uint32_t id = side == 0 ? client_ : server_;
    const WireId own = end(side).wire_id(id);
    const WireId peers = end(1 - side).wire_id(side == 0 ? server_ : client_);
    const auto put = [&](size_t length) {
      give(side, {space.begin(), space.begin() + static_cast<ptrdiff_t>(length)});
    };
    for (uint64_t number = 0; number < 100; ++number) {
      put(write_reset({own, static_cast<uint16_t>(number % 8), number}, space));
      put(write_reset({peers, 0, number}, space));
    }
    put(write_refuse({id, 1, RefuseReason::kFull, true}, space));
    put(write_version({id, 1}, space));
    NetworkError error;
    error.to = pair_->address(1 - side);
    end(side).handle_network_error(pair_->now(), error);
  }
  pair_->run_for(Nanos{});
  EXPECT_EQ(view(), before);
  pair_->run_for(seconds(1));
  expect_moved_more();
}

}  // namespace
}  // namespace heddle::transport::testing
