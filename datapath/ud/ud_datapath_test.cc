// UD while queue pairs, devices and peers fail, and what it refuses.
#include "datapath/ud/ud_datapath.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "datapath/regions.h"
#include "datapath/ud/params.h"
#include "datapath/ud/testing/datagram_nics.h"
#include "datapath/ud/testing/ud_ends.h"
#include "datapath/udp.h"
#include "transport/wire/packet.h"

namespace heddle::datapath {
namespace {

using testing::HasSubstr;
using transport::PacketType;
using transport::TxBurst;

constexpr uint64_t kPattern = 0x5eed;
constexpr uint32_t kPayload = 1'000;

class UdDatapathTest : public testing::Test {
 public:
  static VerbsOptions options(uint16_t port = 0) {
    return {.port = port, .paths = 4, .chunk_paths = 2, .mode = RdmaMode::kDatagrams};
  }
  std::unique_ptr<UdDatapath> open(size_t device, uint16_t port = 0) {
    auto opened = UdDatapath::open(options(port), {.port = nics.port(device)});
    EXPECT_TRUE(opened) << opened.error().message();
    return std::move(*opened);
  }
  void SetUp() override {
    source.resize(1 << 20);
    fill_pattern(kPattern, 0, source);
    a = open(0);
    b = open(1);
    region = *a->register_memory(source.data(), source.size());
  }
  void TearDown() override {
    nics.hold_ends(false);
    nics.hold_sends(false);
  }

  TxBurst burst(uint16_t segments, PacketType type = PacketType::kData, uint8_t flags = 0) {
    headers.assign(size_t{segments} * transport::kDataHeaderBytes, std::byte{});
    for (size_t i = 0; i < segments; ++i) {
      headers[i * transport::kDataHeaderBytes] = std::byte{transport::first_byte(type)};
      headers[i * transport::kDataHeaderBytes + 1] = std::byte{flags};
      headers[i * transport::kDataHeaderBytes + 2] = static_cast<std::byte>(i);
    }
    TxBurst made;
    made.to = b->local_address();
    made.connection = 1;
    made.segments = segments;
    made.header_bytes = transport::kDataHeaderBytes;
    made.headers = headers.data();
    made.payload_bytes = made.last_payload_bytes = kPayload;
    made.region = region;
    return made;
  }
  // Datagrams of the burst's payload that have arrived.
  size_t taken_at(Datapath& at, Nanos at_most = millis(5)) {
    const Nanos end = at.now() + at_most;
    size_t good = 0;
    RxBatch batch;
    do {
      at.wait(std::min(end, at.now() + millis(1)));
      for (int turn = 0; turn < 40; ++turn) {
        if (at.receive(batch, nullptr) == 0) continue;
        for (size_t r = 0; r < batch.count; ++r) good += good_segments(batch.runs[r]);
        at.release(batch);
      }
    } while (at.now() < end);
    return good;
  }
  static size_t good_segments(const transport::RxRun& run) {
    size_t good = 0;
    for (uint32_t i = 0; i < run.segments; ++i) {
      const uint32_t bytes = i + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
      if (bytes != transport::kDataHeaderBytes + kPayload) continue;
      const std::byte* const datagram = run.frame + size_t{i} * run.step();
      const std::span payload(datagram + transport::kDataHeaderBytes, kPayload);
      const uint64_t offset = static_cast<uint64_t>(datagram[2]) * kPayload;
      if (pattern_mismatch(kPattern, offset, payload) == kPayload) ++good;
    }
    return good;
  }
  // Sends one segment each time, at least `least`; both ends are driven. How many arrived.
  size_t trickle(Nanos during, int least = 1) {
    size_t arrived = 0;
    const Nanos end = a->now() + during;
    for (int turn = 0; turn < least || a->now() < end; ++turn) {
      const TxBurst one = burst(1);
      a->transmit({&one, 1});
      arrived += taken_at(*b, millis(1));
      taken_at(*a, {});
    }
    return arrived;
  }
  uint64_t by_pair() const { return a->ud_statistics().datagrams_sent; }
  // Whether what is sent now takes a queue pair.
  bool goes_by_pair() {
    const uint64_t before = by_pair();
    const uint64_t arrived = b->ud_statistics().datagrams_received;
    trickle(millis(3));
    return by_pair() > before && b->ud_statistics().datagrams_received > arrived;
  }

  DatagramNics nics{{"127.0.0.1", "127.0.0.2"}};
  std::vector<std::byte> source;
  std::vector<std::byte> headers;
  std::unique_ptr<UdDatapath> a;
  std::unique_ptr<UdDatapath> b;
  transport::RegionId region = transport::kNoRegion;
};

TEST_F(UdDatapathTest, BeforeTheyKnowEachOtherDatagramsGoByUdp) {
  const TxBurst five = burst(5);
  ASSERT_EQ(a->transmit({&five, 1}), 1u);
  EXPECT_EQ(by_pair(), 0u);
  EXPECT_EQ(taken_at(*b), 5u);
}

TEST_F(UdDatapathTest, OnceTheyDoTheyGoByQueuePair) {
  ASSERT_TRUE(acquaint(*a, *b));
  const uint64_t before = by_pair();
  const TxBurst five = burst(5);
  ASSERT_EQ(a->transmit({&five, 1}), 1u);
  EXPECT_EQ(taken_at(*b), 5u);
  EXPECT_EQ(by_pair() - before, 5u);
}

// An operation may end before its datagrams have left: retransmissions by an acknowledgement of the
// first time, others by a peer that withdraws its receive or acknowledges what it has not received.
// The program then uses the memory anew. Regression: what was sent for the first time, without a
// key, was read from it later.
TEST_F(UdDatapathTest, MemoryIsSentAsItWasWhenTheBurstWasAccepted) {
  ASSERT_TRUE(acquaint(*a, *b));
  for (const auto& [type, flags] : {std::pair(PacketType::kData, uint8_t{0}),
                                    std::pair(PacketType::kData, transport::kFlagRetransmission),
                                    std::pair(PacketType::kRetransmission, uint8_t{0})}) {
    const TxBurst three = burst(3, type, flags);
    nics.hold_sends(true);
    const uint64_t before = by_pair();
    ASSERT_EQ(a->transmit({&three, 1}), 1u);
    ASSERT_EQ(by_pair() - before, 3u);
    std::ranges::fill(source, std::byte{0xdd});
    nics.hold_sends(false);
    EXPECT_EQ(taken_at(*b), 3u);
    fill_pattern(kPattern, 0, source);
  }
}

// Regression: the end of a region waited for a NIC that stood still, until its queue pair had
// ended, however long that took.
TEST_F(UdDatapathTest, ARegionEndsAtOnceThoughTheNicStandsStill) {
  ASSERT_TRUE(acquaint(*a, *b));
  nics.hold_sends(true);
  nics.hold_ends(true);
  const TxBurst three = burst(3);
  ASSERT_EQ(a->transmit({&three, 1}), 1u);
  a->unregister_memory(region);
  std::vector<std::byte>().swap(source);  // the address sanitizer sees a read of it
  EXPECT_EQ(a->sender().waiting(), 3u);
  EXPECT_EQ(a->sender().failed_pairs(), 0u);
  nics.hold_ends(false);
  nics.hold_sends(false);
  EXPECT_EQ(taken_at(*b), 3u);
}

// Regression: closing waited for its queue pairs without end.
TEST_F(UdDatapathTest, ClosingEndsInTimeAndWhatQueuePairsUseStaysUntilTheirEnd) {
  ASSERT_TRUE(acquaint(*a, *b));
  const size_t registered = nics.registered();
  const size_t handles = nics.handles();
  auto third = UdDatapath::open(options(), {.port = nics.port(0), .ends_within = millis(20)});
  ASSERT_TRUE(third);
  ASSERT_TRUE(acquaint(**third, *b));
  EXPECT_EQ(nics.registered(), registered + 2);
  nics.hold_ends(true);
  const Nanos begun = a->now();
  third->reset();
  const Nanos took = a->now() - begun;
  EXPECT_GE(took, millis(20));
  EXPECT_LT(took, seconds(5)) << "far below the 10 s of others";
  EXPECT_EQ(nics.pairs(0).size(), 6u);
  EXPECT_EQ(nics.registered(), registered + 2);
  EXPECT_GT(nics.handles(), handles);
  EXPECT_EQ(nics.opened(), 3u);
  nics.hold_ends(false);
  while (nics.opened() > 2) std::this_thread::yield();
  EXPECT_EQ(nics.pairs(0).size(), 3u);
  EXPECT_EQ(nics.registered(), registered);
}

TEST_F(UdDatapathTest, AFullQueuePushesBackAndTakesTheRestLater) {
  ASSERT_TRUE(acquaint(*a, *b));
  nics.hold_sends(true);
  const TxBurst many = burst(64);
  size_t taken = 0;
  while (taken < 100 && a->transmit({&many, 1}) == 1) ++taken;
  EXPECT_EQ(taken, ud_params::kSendDepth / 64);
  const Nanos before = a->now();
  a->wait(before + seconds(10));
  EXPECT_LT(a->now() - before, seconds(5)) << "the caller is to try again";
  nics.hold_sends(false);
  EXPECT_EQ(a->transmit({&many, 1}), 1u);
  EXPECT_EQ(taken_at(*b), (taken + 1) * 64);
}

TEST_F(UdDatapathTest, ASendingQueuePairThatFailsIsReplaced) {
  ASSERT_TRUE(acquaint(*a, *b));
  // Of each end: two that send, then the one that receives.
  for (const size_t index : {0u, 1u, 0u}) {
    const auto pairs = nics.pairs(0);
    nics.break_pair(pairs.at(index == 0 ? 0 : 1));
    EXPECT_GT(trickle(millis(60), 30), 10u);
  }
  EXPECT_EQ(nics.pairs(0).size(), 3u);
  EXPECT_TRUE(goes_by_pair());
}

TEST_F(UdDatapathTest, AReceivingQueuePairThatFailsIsReplacedAndItsPeersLearnOfIt) {
  ASSERT_TRUE(acquaint(*a, *b));
  for (int times = 0; times < 3; ++times) {
    const uint32_t old = b->receiver().number();
    nics.break_pair(old);
    const Nanos begun = a->now();
    const auto replaced = [&] {
      return b->receiver().number() != 0 && b->receiver().number() != old;
    };
    while (!replaced() && a->now() - begun < seconds(10)) taken_at(*b, millis(1));
    drain(*a);  // which learns of it
    const uint64_t before = by_pair();
    const TxBurst one = burst(1);
    ASSERT_EQ(a->transmit({&one, 1}), 1u);
    EXPECT_EQ(by_pair(), before) << "by UDP until the new one has answered";
    EXPECT_EQ(taken_at(*b), 1u);
    while (!goes_by_pair() && a->now() - begun < seconds(10)) trickle(millis(1));
    EXPECT_TRUE(goes_by_pair());
  }
  EXPECT_EQ(b->receiver().failed_pairs(), 3u);
  EXPECT_EQ(nics.pairs(1).size(), 3u);
}

TEST_F(UdDatapathTest, WhereQueuePairsReachNothingDatagramsGoByUdp) {
  ASSERT_TRUE(acquaint(*a, *b));
  nics.lose_all(true);
  Nanos begun = a->now();
  while (trickle(millis(1)) == 0 && a->now() - begun < seconds(10)) {
  }
  EXPECT_LT(a->now() - begun, seconds(5));
  EXPECT_GT(trickle(millis(20), 20), 10u);
  nics.lose_all(false);
  begun = a->now();
  while (!goes_by_pair() && a->now() - begun < seconds(10)) trickle(millis(5));
  EXPECT_LT(a->now() - begun, seconds(5));
}

TEST_F(UdDatapathTest, APeerThatStartsAgainAtItsPortIsReached) {
  ASSERT_TRUE(acquaint(*a, *b));
  const uint16_t port = b->local_address().port;
  b.reset();
  b = open(1, port);
  const Nanos begun = a->now();
  while (trickle(millis(1)) == 0 && a->now() - begun < seconds(10)) {
  }
  EXPECT_LT(a->now() - begun, seconds(5));
  while (!goes_by_pair() && a->now() - begun < seconds(10)) trickle(millis(1));
  EXPECT_TRUE(goes_by_pair());
  EXPECT_EQ(nics.wrong_key(), 0u) << "the queue pair of another number";
}

TEST_F(UdDatapathTest, APeerOverUdpGetsAllByUdp) {
  UdpOptions wanted;
  wanted.bind = "127.0.0.2";
  const auto udp = open_udp(wanted);
  ASSERT_TRUE(udp);
  size_t arrived = 0;
  for (int times = 0; times < 20; ++times) {
    TxBurst one = burst(1);
    one.to = (*udp)->local_address();
    ASSERT_EQ(a->transmit({&one, 1}), 1u);
    arrived += taken_at(**udp, millis(2));
    taken_at(*a, {});
  }
  EXPECT_EQ(arrived, 20u);
  EXPECT_EQ(by_pair(), 0u);
}

TEST_F(UdDatapathTest, AHostThatNoHandleNamesGetsAllByUdp) {
  nics.refuse_handles(true);
  EXPECT_GT(trickle(millis(50), 20), 10u);
  EXPECT_EQ(by_pair(), 0u);
}

TEST_F(UdDatapathTest, DatagramsAboveThePeersMtuAreReported) {
  b.reset();
  nics.set_mtu(1, 4);
  b = open(1);
  ASSERT_TRUE(acquaint(*a, *b));
  TxBurst large = burst(2);
  large.payload_bytes = large.last_payload_bytes = 3'000;
  ASSERT_EQ(a->transmit({&large, 1}), 1u);
  EXPECT_EQ(a->unsent(0), 2u);
  transport::NetworkError error;
  ASSERT_TRUE(a->poll_error(error));
  EXPECT_EQ(error.kind, transport::NetworkErrorKind::kTooLarge);
  EXPECT_EQ(error.limit_bytes, 2048u);
  EXPECT_TRUE(error.local);
  EXPECT_EQ(error.to, b->local_address());
  EXPECT_FALSE(a->poll_error(error));
}

// A probe of a route needs an answer of IP's routers.
TEST_F(UdDatapathTest, ProbesOfARouteGoByUdp) {
  ASSERT_TRUE(acquaint(*a, *b));
  const uint64_t before = by_pair();
  TxBurst probe = burst(1);
  probe.hop_limit = 3;
  ASSERT_EQ(a->transmit({&probe, 1}), 1u);
  EXPECT_EQ(by_pair(), before);
  EXPECT_EQ(taken_at(*b), 1u);
}

// More of them than it has slots: each slot goes back.
TEST_F(UdDatapathTest, HostileDatagramsAreRefusedAndTakeNoSlot) {
  ASSERT_TRUE(acquaint(*a, *b));
  Random random(11);
  std::vector<DatagramNics::Arriving> kept;
  nics.on_arrival([&kept](auto& datagram) { kept.push_back(datagram); });
  const TxBurst one = burst(1);
  ASSERT_EQ(a->transmit({&one, 1}), 1u);
  nics.on_arrival(nullptr);
  ASSERT_EQ(taken_at(*b), 1u);
  ASSERT_EQ(kept.size(), 1u);
  const uint64_t refused = b->receiver().refused();
  uint32_t sent = 0;
  for (; sent < 3 * b->receiver().slots(); ++sent) {
    DatagramNics::Arriving bad = kept[0];
    switch (random.below(5)) {
      case 0:
        bad.bytes.resize(random.below(41));  // at most a header
        break;
      case 1:
        bad.has_header = false;
        break;
      case 2:
        bad.has_immediate = false;
        break;
      case 3:
        bad.immediate ^= 0xffff'ffff;
        break;
      default:
        bad.bytes[20] = bad.bytes[36] = std::byte{0xff};
        break;
    }
    nics.inject(b->receiver().number(), bad);
    if (sent % 32 == 0) {
      EXPECT_EQ(taken_at(*b, {}), 0u);
    }
  }
  EXPECT_EQ(taken_at(*b), 0u);
  EXPECT_EQ(b->receiver().refused() - refused, sent);
  EXPECT_TRUE(goes_by_pair());
}

TEST_F(UdDatapathTest, GreetingsOfStrangersAreAnsweredWithoutMemoryOfThem) {
  ASSERT_TRUE(acquaint(*a, *b));
  std::vector<DatagramNics::Arriving> kept;
  nics.on_arrival([&kept](auto& datagram) { kept.push_back(datagram); });
  const TxBurst one = burst(1);
  ASSERT_EQ(a->transmit({&one, 1}), 1u);
  nics.on_arrival(nullptr);
  taken_at(*b);
  DatagramNics::Arriving greeting = kept.at(0);
  greeting.bytes.resize(kGrhBytes);
  const auto bytes = write_greeting({.port = 9, .queue_pair = 1, .nonce = 1});
  greeting.bytes.insert(greeting.bytes.end(), bytes.begin(), bytes.end());
  for (uint32_t i = 0; i < 3 * b->receiver().slots(); ++i) {
    greeting.bytes.back() = static_cast<std::byte>(i);
    nics.inject(b->receiver().number(), greeting);
    if (i % 32 == 0) {
      EXPECT_EQ(taken_at(*b, {}), 0u);
    }
  }
  EXPECT_TRUE(goes_by_pair());
}

// --- opening ---

TEST_F(UdDatapathTest, PacketsThatAreTooShortForDatagramsAreOneClearError) {
  nics.set_mtu(0, 3);
  const auto opened = UdDatapath::open(options(), {.port = nics.port(0)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(opened.error().message(),
              HasSubstr("packets of nic0 port 1 carry 1024 bytes, and datagrams need 1200"));
  EXPECT_THAT(opened.error().message(), HasSubstr("MTU of its interface to 2200"));
}

TEST_F(UdDatapathTest, LittleLockedMemoryMakesFewerSlots) {
  nics.refuse_memory(4 << 20);
  const auto few = open(0);
  EXPECT_LT(few->receiver().slots(), a->receiver().slots());
  EXPECT_GE(few->receiver().slots(), ud_params::kLeastReceiveSlots);
  EXPECT_EQ(few->capabilities().receive_capacity.count,
            few->receiver().slots() * ud_params::kCapacityPerSlot);
}

TEST_F(UdDatapathTest, NoLockedMemoryIsOneClearError) {
  nics.refuse_memory(0);
  const auto opened = UdDatapath::open(options(), {.port = nics.port(0)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kExhausted);
  EXPECT_THAT(opened.error().message(), HasSubstr("raise the limit of locked memory (ulimit -l)"));
}

TEST_F(UdDatapathTest, ADeviceWithoutUdIsOneClearError) {
  nics.refuse_pairs();
  const auto opened = UdDatapath::open(options(), {.port = nics.port(0)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(opened.error().message(), HasSubstr("nic0 has no UD queue pairs"));
  EXPECT_THAT(opened.error().message(), HasSubstr("set rdma_mode to rc"));
}

}  // namespace
}  // namespace heddle::datapath
