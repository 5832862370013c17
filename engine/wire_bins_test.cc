// Bins count every sent and received packet once, whatever the span. In a real exchange they match
// the datapath's counts.
#include "engine/wire_bins.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "engine/testing/endpoint_pair.h"
#include "events/memory_sink.h"

namespace heddle::engine {
namespace {

using events::WireBin;
using transport::TxBurst;

TxBurst burst_of(uint32_t connection, uint16_t path, uint16_t segments, uint32_t payload,
                 uint32_t last) {
  TxBurst burst;
  burst.connection = connection;
  burst.path = path;
  burst.segments = segments;
  burst.header_bytes = 40;
  burst.payload_bytes = payload;
  burst.last_payload_bytes = last;
  burst.to.host[10] = burst.to.host[11] = 0xff;  // IPv4
  return burst;
}

TEST(WireBins, BytesIncludeEveryHeader) {
  events::MemorySink sink;
  WireBins bins(sink, micros(100));
  bins.sent(micros(1230), burst_of(7, 3, 4, 1000, 500), 0);
  TxBurst six = burst_of(7, 3, 2, 0, 0);
  six.to.host[0] = 0xfd;
  bins.sent(micros(1299), six, 0);
  bins.tell(micros(1299));
  EXPECT_TRUE(sink.all<WireBin>().empty());
  bins.tell(micros(1300));
  const WireBin expected{.time = micros(1300),
                         .connection = 7,
                         .path = 3,
                         .nic = 0,
                         .peer_nic = 0,
                         .direction = events::Direction::kSent,
                         .ago = micros(100),
                         .span_ns = 100'000,
                         .packets = 6,
                         .bytes = 4 * (14 + 20 + 8 + 40) + 3500 + 2 * (14 + 40 + 8 + 40),
                         .payload_bytes = 3500};
  EXPECT_EQ(sink.all<WireBin>(), std::vector<WireBin>{expected});
}

TEST(WireBins, UnsentSegmentsAreNotCounted) {
  events::MemorySink sink;
  WireBins bins(sink, micros(100));
  bins.sent(micros(1), burst_of(7, 3, 4, 1000, 500), 4);
  bins.report_all(micros(2));
  EXPECT_TRUE(sink.all<WireBin>().empty());
  bins.sent(micros(3), burst_of(7, 3, 4, 1000, 500), 1);
  bins.report_all(micros(4));
  ASSERT_EQ(sink.all<WireBin>().size(), 1u);
  EXPECT_EQ(sink.all<WireBin>()[0].packets, 3u);
  EXPECT_EQ(sink.all<WireBin>()[0].bytes, 3u * (82 + 1000));
  EXPECT_EQ(sink.all<WireBin>()[0].payload_bytes, 3000u);
}

TEST(WireBins, NothingIsLostOrCountedTwiceWithAFullTable) {
  events::MemorySink sink(200'000);
  WireBins bins(sink, micros(100));
  Random random(11);
  using Key = std::tuple<int64_t, uint32_t, uint16_t>;  // start of the span, connection, path
  std::map<Key, uint64_t> counted;
  Nanos now = micros(50);
  for (int i = 0; i < 100'000; ++i) {
    now = now + nanos(static_cast<int64_t>(random.below(300)));
    const auto connection = static_cast<uint32_t>(1 + random.below(20));
    const auto path = static_cast<uint16_t>(random.below(30));  // more keys than the table holds
    const TxBurst burst = burst_of(connection, path, 1, 0, 0);
    bins.sent(now, burst, 0);
    counted[{now.count / 100'000 * 100'000, connection, path}] += 82;
  }
  bins.report_all(now);
  std::map<Key, uint64_t> reported;
  Nanos latest;
  for (const WireBin& bin : sink.all<WireBin>()) {
    reported[{(bin.time - bin.ago).count, bin.connection, bin.path}] += bin.bytes;
    EXPECT_GE(bin.time, latest);
    latest = bin.time;
  }
  EXPECT_EQ(reported, counted);
}

// Few keys are found by linear search, many by the hash table.
TEST(WireBins, EachPathHasOneBinWithFewAndManyPaths) {
  events::MemorySink sink;
  WireBins bins(sink, micros(100));
  size_t reported = 0;
  int64_t span = 0;
  for (const uint16_t paths : {3, 16, 17, 20, 128, 3, 17}) {
    const Nanos now = micros(++span * 100);
    for (int round = 0; round < 3; ++round) {
      for (uint16_t path = 0; path < paths; ++path) bins.sent(now, burst_of(7, path, 1, 0, 0), 0);
    }
    bins.report_all(now);
    const std::vector<WireBin> all = sink.all<WireBin>();
    ASSERT_EQ(all.size(), reported + paths);
    for (size_t i = reported; i < all.size(); ++i) {
      EXPECT_EQ(all[i].path, i - reported);
      EXPECT_EQ(all[i].packets, 3u);
    }
    reported = all.size();
  }
}

TEST(WireBins, ASpanThatEndsDuringARestIsEmittedBeforeIt) {
  events::MemorySink sink;
  WireBins bins(sink, micros(100));
  bins.sent(micros(110), burst_of(7, 3, 1, 0, 0), 0);
  bins.report_before_rest(micros(120), micros(199));
  EXPECT_EQ(sink.total(), 0u);
  bins.report_before_rest(micros(130), micros(200));
  ASSERT_EQ(sink.total(), 1u);
  EXPECT_EQ(sink.all<WireBin>()[0].time, micros(130));
  EXPECT_EQ(sink.all<WireBin>()[0].ago, micros(30));
}

TEST(WireBins, LargeCountsAreEmittedInParts) {
  events::MemorySink sink;
  WireBins bins(sink, seconds(1));
  uint64_t payload = 0;
  for (int i = 0; i < 200'000; ++i) {
    bins.sent(micros(1), burst_of(1, 0, 64, 960, 960), 0);
    payload += uint64_t{64} * 960;
  }
  bins.report_all(micros(2));
  ASSERT_GT(payload, uint64_t{2} << 32);
  for (const WireBin& bin : sink.all<WireBin>()) payload -= bin.payload_bytes;
  EXPECT_EQ(payload, 0u);
}

// Both ends' events match what the network between them carried.
TEST(WireBins, AnExchangeIsCountedAsItsNetworkCarriedIt) {
  events::MemorySink client(1 << 16);
  events::MemorySink server(1 << 16);
  auto [client_end, server_end] = PipeDatapath::make_pair();
  {
    EndpointPair pair;
    Options options;
    options.sink = &client;
    pair.client_end = client_end;
    pair.client = std::move(Endpoint::create(client_end, options)).value();
    options.sink = &server;
    options.transport.accept = true;
    pair.server = std::move(Endpoint::create(server_end, options)).value();
    join(pair);
    const std::vector<std::byte> sent = pattern(1 << 20, 3);
    std::vector<std::byte> got(sent.size());
    const Operation receive =
        pair.server->receive(pair.to_client, 0, got.data(), got.size()).value();
    const Operation send = pair.client->send(pair.to_server, 0, sent.data(), sent.size()).value();
    EXPECT_TRUE(pair.server->wait(receive, kTestPatience).ok);
    EXPECT_TRUE(pair.client->wait(send, kTestPatience).ok);
  }
  const uint64_t carried = client_end->statistics().datagrams_sent;
  uint64_t packets = 0;
  uint64_t payload = 0;
  for (const WireBin& bin : client.all<WireBin>()) {
    if (bin.direction == events::Direction::kReceived) continue;
    packets += bin.packets;
    payload += bin.payload_bytes;
  }
  EXPECT_EQ(packets, carried);
  EXPECT_GE(payload, uint64_t{1} << 20);
  uint64_t received = 0;
  for (const WireBin& bin : server.all<WireBin>()) {
    if (bin.direction == events::Direction::kReceived) received += bin.bytes;
  }
  EXPECT_GT(received, payload);
}

}  // namespace
}  // namespace heddle::engine
