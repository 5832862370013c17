// Behaviour when the network or the other side does not help: loss, reordering and duplicates
// together, outages, paths that pass only small datagrams, callers that stay away, and peers that
// send garbage.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "events/counting_sink.h"
#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using events::DropReason;
using testing::PairOptions;

uint32_t bytes_of(const TxBurst& burst, uint32_t segment) {
  const bool last = segment + 1u == burst.segments;
  return burst.header_bytes + (last ? burst.last_payload_bytes : burst.payload_bytes);
}

class AdverseTest : public testing::PairFixture {
 protected:
  uint64_t drops(int side, DropReason reason) {
    return end(side).statistics().drops_by_reason[static_cast<size_t>(reason)];
  }
  const ConnectionStatistics& sent() { return *end(0).statistics(client_); }
};

TEST_F(AdverseTest, LossReorderingAndDuplicatesTogetherChangeNoByte) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    PairOptions options;
    options.seed = seed;
    options.loss_per_million = 20'000;
    options.late_per_million = 100'000;
    options.twice_per_million = 50'000;
    options.coalesce = seed % 2 == 0 ? 64 : 1;
    start(options);
    Random random(seed);
    uint64_t offset = 0;
    std::vector<std::pair<uint64_t, uint64_t>> messages;
    for (OperationId i = 0; i < 60; ++i) {
      const uint64_t bytes = random.below(uint64_t{1} << random.below(18));
      const auto channel = static_cast<ChannelId>(random.below(3));
      messages.emplace_back(offset, bytes);
      receive(offset, bytes, i, channel);
      send(offset, bytes, i, channel);
      offset += bytes;
      if (random.below(3) == 0) pair_->run_for(micros(static_cast<int64_t>(random.below(400))));
    }
    ASSERT_TRUE(run_until_completed(60, 60)) << seed;
    for (int side = 0; side < 2; ++side) {
      for (const Completion& completion : ended(side)) EXPECT_TRUE(completion.ok) << seed;
    }
    for (const auto& [at, bytes] : messages) ASSERT_TRUE(same(at, bytes)) << seed;
    // What was cut is where it should be, and nothing beyond.
    EXPECT_EQ(pair_->region(1, memory_[1])[offset], std::byte{0}) << seed;
  }
}

TEST_F(AdverseTest, ReorderingIsLearnt) {
  PairOptions options;
  options.coalesce = 1;
  options.late_per_million = 100'000;
  options.late_by = micros(60);
  ConnectionOptions one;
  one.paths = 1;
  start(options, one);
  const auto transfer = [this](OperationId i) {
    receive(0, 1 << 20, i);
    send(0, 1 << 20, i);
    ASSERT_TRUE(run_until_completed(i, i));
  };
  for (OperationId i = 1; i <= 5; ++i) transfer(i);
  const uint64_t repeated = sent().segments_retransmitted;
  const uint64_t segments = sent().segments_sent;
  EXPECT_GT(repeated, 0u);  // before it knew
  for (OperationId i = 6; i <= 15; ++i) transfer(i);
  const uint64_t more = sent().segments_retransmitted - repeated;
  EXPECT_LT(more, (sent().segments_sent - segments) / 200);
  // Nothing was lost, so that every repeat was needless; all but a few were found to be so.
  EXPECT_GE(sent().segments_retransmitted_spuriously, sent().segments_retransmitted * 8 / 10);
}

// All acknowledgements are delayed until every segment is declared lost and no path is left for
// retransmissions. Segments that were never retransmitted were once counted as spurious.
TEST_F(AdverseTest, NoMoreRepeatsAreCalledSpuriousThanThereWere) {
  uint64_t given_up_in_vain = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    PairOptions options;
    bool deaf = false;
    options.drop = [&deaf](int side, const TxBurst&, uint32_t) { return deaf && side == 1; };
    options.seed = seed;
    start(options);
    for (OperationId i = 1; i <= 4; ++i) {
      receive(0, 4 << 20, i);
      send(0, 4 << 20, i);
      pair_->run_for(micros(100 + 37 * static_cast<int64_t>(seed)));
      deaf = true;
      pair_->run_for(millis(40));
      EXPECT_LE(sent().segments_retransmitted_spuriously, sent().segments_retransmitted) << seed;
      deaf = false;
      ASSERT_TRUE(run_until_completed(i, i)) << seed;
      EXPECT_LE(sent().segments_retransmitted_spuriously, sent().segments_retransmitted) << seed;
    }
    const auto step = static_cast<size_t>(events::RecoveryStep::kSpuriousRetransmit);
    given_up_in_vain += end(0).statistics().recovery_by_step[step];
  }
  EXPECT_GT(given_up_in_vain, 0u);
}

TEST_F(AdverseTest, AnOutageOfTwoSecondsHeals) {
  for (const int silent : {0, 1, 2}) {  // one way, the other, both
    PairOptions options;
    bool out = false;
    options.drop = [&out, silent](int side, const TxBurst&, uint32_t) {
      return out && (silent == 2 || side == silent);
    };
    start(options);
    receive(0, 4 << 20, 1);
    send(0, 4 << 20, 1);
    pair_->run_for(micros(300));
    out = true;
    pair_->run_for(seconds(2));
    EXPECT_TRUE(ended(0).empty());
    out = false;
    const Nanos began = pair_->now();
    ASSERT_TRUE(run_until_completed(1, 1, seconds(5))) << silent;
    EXPECT_LT(pair_->now() - began, seconds(1)) << silent;
    EXPECT_TRUE(same(0, 4 << 20));
  }
}

// Probes of a dead path once carried frames that were not retransmitted: a grant was lost.
TEST_F(AdverseTest, ProbesOfADeadPathCarryNothingThatMatters) {
  PairOptions options;
  std::vector<Nanos> probes;  // of side 1
  options.drop = [this, &probes](int side, const TxBurst& burst, uint32_t) {
    if (side == 1 && burst.path == 1) probes.push_back(pair_->now());
    return burst.path == 1;
  };
  ConnectionOptions two;
  two.paths = 2;
  start(options, two);
  for (OperationId i = 1; i <= 20; ++i) ASSERT_TRUE(exchange(i));
  pair_->run_for(seconds(3));
  for (OperationId i = 21; i <= 30; ++i) {
    ASSERT_GE(probes.size(), 2u);
    const Nanos period = probes.back() - probes[probes.size() - 2];
    pair_->run_for(probes.back() + period - micros(10) - pair_->now());
    const size_t before = probes.size();
    ASSERT_TRUE(exchange(i)) << "its grant was due with a probe";
    pair_->run_for(period / 2);
    ASSERT_EQ(probes.size(), before + 1);
  }
}

TEST_F(AdverseTest, ALinkThatPassesOnlySmallDatagramsIsFoundAndUsed) {
  PairOptions options;
  options.endpoint.max_datagram_bytes = 8952;
  options.drop = [](int, const TxBurst& burst, uint32_t i) { return bytes_of(burst, i) > 1472; };
  start(options);
  receive(0, 8 << 20, 1);
  send(0, 8 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1, seconds(5)));
  pair_->run_for(seconds(1));
  for (const PathStatistics& path : end(0).path_statistics(client_)) {
    EXPECT_EQ(path.segment_bytes, 1472u - kDataHeaderBytes) << path.path;
  }
}

TEST_F(AdverseTest, ALinkWhoseLimitShrinksDoesNotHang) {
  PairOptions options;
  options.endpoint.max_datagram_bytes = 8952;
  uint32_t limit = 8952;
  options.drop = [&limit](int, const TxBurst& burst, uint32_t i) {
    return bytes_of(burst, i) > limit;
  };
  start(options);
  receive(0, 4 << 20, 1);
  send(0, 4 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_EQ(sent().segment_bytes, 8952u - kDataHeaderBytes);
  limit = 1452;
  receive(0, 4 << 20, 2);
  send(0, 4 << 20, 2);
  ASSERT_TRUE(run_until_completed(2, 2, seconds(10)));
  EXPECT_TRUE(ended(0)[1].ok);
  EXPECT_TRUE(same(0, 4 << 20));
}

TEST_F(AdverseTest, WhatIsUnderWayStaysWithinTheReceiversCapacity) {
  PairOptions options;
  options.delay = micros(100);  // long enough that only the capacity bounds it, and no road counts
  options.endpoint.receive_capacity = Bytes{106'496};
  start(options);
  receive(0, 16 << 20, 1);
  send(0, 16 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1, seconds(20)));
  EXPECT_LE(pair_->most_on_way[1], 106'496u);
  EXPECT_GE(pair_->most_on_way[1], 106'496u / 2);
}

TEST_F(AdverseTest, ConnectionsShareTheReceiversCapacity) {
  PairOptions options;
  options.delay = micros(100);
  start(options);
  const ConnectionId second = connect();
  ASSERT_TRUE(pair_->run_until([this] { return seen(1) == 2; }, seconds(1)));
  const ConnectionId second_server = notice(1).connection;
  const auto transfer = [&](OperationId i, size_t bytes) {
    receive(0, bytes, i);
    send(0, bytes, i);
    ASSERT_TRUE(end(1).post_receive(pair_->now(), {second_server, 0}, {memory_[1], 0, bytes}, i));
    ASSERT_TRUE(end(0).post_send(pair_->now(), {second, 0}, {memory_[0], 0, bytes}, i));
    ASSERT_TRUE(run_until_completed(2 * i, 2 * i));
  };
  transfer(1, 200'000);  // both are known to send now
  pair_->most_on_way[1] = 0;
  transfer(2, 4 << 20);
  EXPECT_LE(pair_->most_on_way[1], options.endpoint.receive_capacity.count);
}

TEST_F(AdverseTest, AReceivePostedAMinuteLateCompletesWithoutRetransmissions) {
  start();
  send(0, 1 << 20, 1);
  pair_->run_for(seconds(1));
  const uint64_t before = pair_->datagrams;
  pair_->run_for(seconds(60));
  EXPECT_LT(pair_->datagrams - before, 400u);  // keep-alives, and no repeats without end
  EXPECT_EQ(end(0).connections(), 1u);
  EXPECT_EQ(sent().segments_retransmitted, 0u);
  receive(0, 1 << 20, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  EXPECT_TRUE(same(0, 1 << 20));
}

TEST_F(AdverseTest, SmallMessagesWithoutReceivesAreHeldBackNotRepeated) {
  PairOptions options;
  start(options);
  const uint64_t ahead = options.endpoint.eager_blocks;
  for (OperationId i = 0; i < 100; ++i) send(i * 100, 100, i);
  pair_->run_for(seconds(10));
  EXPECT_EQ(end(1).statistics(server_)->payload_bytes_received, ahead * 100);
  EXPECT_EQ(sent().segments_retransmitted, 0u);
  EXPECT_EQ(drops(1, DropReason::kOverEager), 0u);
  for (OperationId i = 0; i < 100; ++i) receive(i * 100, 100, i);
  ASSERT_TRUE(run_until_completed(100, 100));
  EXPECT_TRUE(same(0, 10'000));
}

TEST_F(AdverseTest, PostsBeyondTheBoundAreRefusedUntilSomethingEnds) {
  PairOptions options;
  options.endpoint.max_posted = 16;
  start(options);
  for (OperationId i = 0; i < 16; ++i) {
    send(0, 100, i);
    receive(0, 100, i);
  }
  EXPECT_EQ(end(0).post_send(pair_->now(), {client_, 0}, {memory_[0], 0, 1}, 99).error().code,
            ErrorCode::kExhausted);
  EXPECT_EQ(end(1).post_receive(pair_->now(), {server_, 0}, {memory_[1], 0, 1}, 99).error().code,
            ErrorCode::kExhausted);
  ASSERT_TRUE(run_until_completed(16, 16));
  EXPECT_TRUE(exchange(99));
}

TEST_F(AdverseTest, ReceivesOnChannelsThatThePeerDoesNotSendOnHoldUpNothing) {
  PairOptions options;
  options.adjust = [](int side, EndpointOptions& endpoint) {
    if (side == 0) endpoint.max_channels = 2;
  };
  start(options);
  for (OperationId i = 0; i < 100; ++i) receive(0, 10, i, 40);
  pair_->run_for(seconds(1));
  EXPECT_EQ(end(0).statistics().datagrams_dropped, 0u);
  EXPECT_TRUE(exchange(1000));
}

// Whatever is posted in a row: as many receives as allowed are always out, and acknowledgements are
// lost.
TEST_F(AdverseTest, GrantsThatRunAheadOfAcknowledgementsAreTaken) {
  PairOptions options;
  options.endpoint.max_posted = 4;
  options.loss_per_million = 100'000;
  start(options);
  uint64_t posted_sends = 0;
  uint64_t posted_receives = 0;
  while (posted_sends < 300 || ended(0).size() < 300) {
    ASSERT_LT(pair_->now(), seconds(100));
    while (posted_receives < 300 &&
           end(1).post_receive(pair_->now(), {server_, 0}, {memory_[1], 0, 100}, posted_receives)) {
      ++posted_receives;
    }
    while (posted_sends < 300 &&
           end(0).post_send(pair_->now(), {client_, 0}, {memory_[0], 0, 100}, posted_sends)) {
      ++posted_sends;
    }
    pair_->run_for(micros(20));
  }
  EXPECT_EQ(drops(0, DropReason::kBadField), 0u);
  EXPECT_EQ(drops(1, DropReason::kBadField), 0u);
}

TEST_F(AdverseTest, GarbageIsCountedAndForgotten) {
  start();
  ASSERT_TRUE(exchange(1));
  const size_t held = end(1).bytes_held();
  Random random(5);
  std::vector<std::byte> garbage;
  for (int i = 0; i < 20'000; ++i) {
    garbage.resize(random.between(1, 1500));
    for (std::byte& byte : garbage) byte = static_cast<std::byte>(random.next());
    if (i % 2 == 0) garbage[0] = std::byte(0x10 | random.below(16));  // our version
    Address from = pair_->address(0);
    from.host[3] = static_cast<uint8_t>(i);
    pair_->inject(1, from, garbage, 1, static_cast<uint32_t>(garbage.size()));
    if (i % 100 == 0) pair_->run_for(micros(1));
  }
  EXPECT_GE(end(1).statistics().datagrams_dropped, 15'000u);
  EXPECT_LT(end(1).bytes_held(), held + 16'384);
  EXPECT_EQ(end(1).connections(), 1u);
  EXPECT_TRUE(exchange(2));
}

TEST_F(AdverseTest, PacketsThatAreCutShortAreDropped) {
  PairOptions options;
  std::vector<std::vector<std::byte>> seen;
  options.tamper = [&seen](int side, std::span<std::byte> frame) {
    if (side == 0) seen.emplace_back(frame.begin(), frame.end());
  };
  options.coalesce = 1;
  start(options);
  receive(0, 20'000, 1);
  send(0, 20'000, 1);
  ASSERT_TRUE(run_until_completed(1, 1));
  const auto packets = seen;
  for (const std::vector<std::byte>& packet : packets) {
    for (size_t length = 1; length < std::min<size_t>(packet.size(), 64); ++length) {
      pair_->inject(1, pair_->address(0), std::span(packet).first(length), 1,
                    static_cast<uint32_t>(length));
    }
  }
  EXPECT_GT(drops(1, DropReason::kBadLength), 0u);
  EXPECT_TRUE(exchange(2));
}

// A peer with a connection of its own that keeps to no rule but the form of its packets.
class HostilePeerTest : public AdverseTest {
 protected:
  void control(const std::vector<std::byte>& frames) {
    std::vector<std::byte> packet(kConnectionHeaderBytes);
    ConnectionHeader header;
    header.flags = kFlagNumbered;
    header.connection = end(1).wire_id(server_);
    header.number = ++number_;
    header.path = 1;
    header.reply_port = pair_->address(0).port;
    write_connection_header(header, packet.data());
    packet.insert(packet.end(), frames.begin(), frames.end());
    pair_->inject(1, pair_->address(0), packet, 1, static_cast<uint32_t>(packet.size()));
  }
  void data(ChannelId channel, Sequence sequence, uint32_t message_bytes) {
    std::vector<std::byte> packet(kDataHeaderBytes + 1);
    DataHeader header;
    header.base.type = PacketType::kData;
    header.base.connection = end(1).wire_id(server_);
    header.base.number = ++number_;
    header.base.path = 1;
    header.base.reply_port = pair_->address(0).port;
    header.channel = channel;
    header.sequence = sequence;
    header.message_bytes = message_bytes;
    write_data_header(header, packet.data());
    pair_->inject(1, pair_->address(0), packet, 1, static_cast<uint32_t>(packet.size()));
  }
  uint64_t number_ = 100;
};

TEST_F(HostilePeerTest, FramesOfAnySequenceKeepMemoryWithinItsBound) {
  PairOptions options;
  options.endpoint.max_paths = 256;
  start(options);
  const size_t held = end(1).bytes_held();
  std::array<std::byte, 64> space;
  for (uint32_t ahead = 0; ahead < 20'000; ahead += 7) {
    for (ChannelId channel = 0; channel < 64; channel = static_cast<ChannelId>(channel + 9)) {
      const Sequence sequence = kFirstSequence + ahead;
      Writer writer(space);
      write_grant({channel, sequence, 3000, 100}, writer);
      write_cancel(FrameType::kCancelSend, {channel, sequence, CancelReason::kCancelled}, writer);
      write_cancel(FrameType::kCancelReceive, {channel, sequence, CancelReason::kCancelled},
                   writer);
      write_cancel(FrameType::kCancelSend, {channel, 5, CancelReason::kCancelled}, writer);
      control({space.begin(), space.end() - static_cast<ptrdiff_t>(writer.left())});
      data(channel, sequence, 1);
      data(channel, sequence, 1 << 29);
    }
  }
  EXPECT_LT(end(1).bytes_held(), held + (3 << 20) / 2);
}

// The packet was once dropped with all its frames, repeatedly, and no error was reported.
TEST_F(HostilePeerTest, AnAcknowledgementOfAnUnsentPacketEndsTheConnectionWithAnError) {
  const std::pair<uint16_t, uint64_t> never[] = {
      {0, 1000}, {0, uint64_t{1} << 62}, {1, UINT32_MAX}, {200, 1}, {UINT16_MAX, 1}};
  for (const auto& [path, number] : never) {
    start();
    ASSERT_TRUE(end(1).post_send(pair_->now(), {server_, 0}, {memory_[1], 0, 1 << 20}, 1));
    AckFrame ack;
    ack.path = path;
    ack.range_count = 1;
    ack.ranges[0] = {number, number};
    std::array<std::byte, 64> space;
    Writer writer(space);
    write_ack(ack, writer);
    control({space.begin(), space.end() - static_cast<ptrdiff_t>(writer.left())});
    ASSERT_TRUE(pair_->run_until([this] { return end(0).connections() == 0; }, millis(5)));
    EXPECT_EQ(end(1).connections(), 0u);
    ASSERT_EQ(ended(1).size(), 1u) << "no operation waits";
    const Notice& last = notice(1);
    EXPECT_EQ(last.kind, NoticeKind::kClosed);
    EXPECT_EQ(last.error.why, "the peer acknowledged a packet that was never sent to it");
  }
}

// One of 2^62 made this side acknowledge what was never sent, from then on, with every packet.
TEST_F(HostilePeerTest, ANumberFurtherAheadThanAnySenderComesIsDroppedAndCounted) {
  start();
  receive(0, 1, 1);
  for (const uint64_t ahead : {uint64_t{1} << 25, uint64_t{1} << 31, uint64_t{1} << 32,
                               uint64_t{1} << 62, static_cast<uint64_t>(INT64_MAX)}) {
    const uint64_t before = drops(1, DropReason::kTooFarAhead);
    number_ = ahead - 1;
    control({std::byte{static_cast<uint8_t>(FrameType::kPing)}});
    number_ = ahead - 1;
    data(0, kFirstSequence, 1);
    EXPECT_EQ(drops(1, DropReason::kTooFarAhead), before + 2) << ahead;
  }
  for (const uint64_t number : {static_cast<uint64_t>(INT64_MAX) + 1, UINT64_MAX, uint64_t{0}}) {
    const uint64_t before = drops(1, DropReason::kBadField);
    number_ = number - 1;
    control({std::byte{static_cast<uint8_t>(FrameType::kPing)}});
    EXPECT_EQ(drops(1, DropReason::kBadField), before + 1) << number;
  }
  pair_->run_for(millis(5));
  EXPECT_TRUE(ended(1).empty()) << "none of it is payload";
  EXPECT_EQ(end(0).connections(), 1u) << "the peer got no acknowledgement of any of it";
}

}  // namespace
}  // namespace heddle::transport
