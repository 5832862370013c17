// What a peer that keeps to no rule but the wire's form can make an endpoint hold: no more than the
// options promise (docs/explanation/protocol.md, Bounds).
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "transport/testing/pair_fixture.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

using testing::PairOptions;

// The bound of one connection. A queue that has held n elements keeps room for up to 2n, and a pool
// grows by 64 elements at a time.
uint64_t stated_bound(const EndpointOptions& o) {
  const uint64_t connection = 3380;
  const uint64_t paths = o.max_paths * uint64_t{90 + 40 + 264} + 64 * 264;
  const uint64_t channels = o.max_channels * uint64_t{400};
  const uint64_t named = 2 * uint64_t{o.max_posted} * 8;
  const uint64_t early = (o.eager_blocks + uint64_t{64}) * 160;
  const uint64_t answers = 2 * 2 * (o.max_posted + uint64_t{64}) * 16;
  const uint64_t in_flight = (o.max_sent_runs + uint64_t{64}) * 184;
  return connection + paths + channels + named + early + answers + in_flight;
}

class BoundsTest : public testing::PairFixture {
 protected:
  // Half of what is named lies near what is in use, half anywhere.
  uint64_t any(uint64_t near, uint64_t most) {
    return random_.below(2) == 0 ? random_.below(near) : random_.below(most);
  }

  ConnectionHeader header(PacketType type) {
    ConnectionHeader header;
    header.type = type;
    header.path = static_cast<uint16_t>(random_.below(options_.endpoint.max_paths));
    header.connection = end(1).wire_id(server_);
    // Every other number stays out, so that each path is full of gaps.
    header.number = number_ += 2;
    header.sent_at = pair_->now();
    header.reply_port = pair_->address(0).port;
    return header;
  }
  ChannelId channel() { return static_cast<ChannelId>(any(4, options_.endpoint.max_channels)); }
  // One in eight lies where the order of two numbers ends, half the circle away.
  Sequence sequence() {
    if (random_.below(8) == 0) {
      const auto beside = static_cast<int32_t>(random_.below(8)) - 4;
      return Sequence(kFirstSequence.value() + 0x80000000).moved_by(beside);
    }
    return kFirstSequence + static_cast<uint32_t>(any(2 * options_.endpoint.max_posted, 1u << 31));
  }

  void send_data() {
    DataHeader first;
    first.base = header(PacketType::kData);
    first.channel = channel();
    first.sequence = sequence();
    const auto bytes = static_cast<uint32_t>(random_.below(900));
    first.offset = static_cast<uint32_t>(random_.below(3) * 100);
    first.message_bytes = first.offset + bytes + static_cast<uint32_t>(any(2, 1u << 29));
    std::array<std::byte, 1000> packet{};
    write_data_header(first, packet.data());
    pair_->inject(1, from_, std::span(packet).first(kDataHeaderBytes + bytes), 1,
                  kDataHeaderBytes + bytes);
  }

  void send_control() {
    std::array<std::byte, 1000> packet{};
    ConnectionHeader start = header(PacketType::kControl);
    start.flags = kFlagNumbered;
    write_connection_header(start, packet.data());
    Writer writer{std::span(packet).subspan(kConnectionHeaderBytes)};
    for (uint64_t i = random_.between(1, 12); i > 0; --i) {
      const auto count = static_cast<uint16_t>(any(3, 5000));
      const CancelFrame cancel{channel(), sequence(), CancelReason::kCancelled};
      switch (random_.below(options_.endpoint.chunk_paths == 0 ? 4 : 8)) {
        case 0:
          write_grant({channel(), sequence(), count, 1u << 20}, writer);
          break;
        case 1:
          write_cancel(FrameType::kCancelSend, cancel, writer);
          break;
        case 2:
          write_cancel(FrameType::kCancelReceive, cancel, writer);
          break;
        case 3:
          write_cancel(FrameType::kDelivered, cancel, writer);
          break;
        default:  // each epoch that is asked for is fenced, and answered
          write_fence(FrameType::kAskFence, {fenced_path_, epoch_}, writer);
          fenced_path_ = static_cast<uint16_t>((fenced_path_ + 1) % options_.endpoint.chunk_paths);
          epoch_ += fenced_path_ == 0 ? 1 : 0;
      }
    }
    pair_->inject(1, from_, std::span(packet).first(packet.size() - writer.left()), 1,
                  packet.size() - writer.left());
  }

  PairOptions options_;
  Random random_{1};
  Address from_;
  uint64_t number_ = 1000;
  uint16_t fenced_path_ = 0;
  uint32_t epoch_ = 0;
};

TEST_F(BoundsTest, WhateverAPeerSendsAConnectionHoldsNoMoreThanItsOptionsPromise) {
  struct Case {
    uint16_t paths;
    uint32_t posted;
    uint32_t channels;
    uint16_t chunk_paths = 0;
  };
  for (const auto& [paths, posted, channels, chunk_paths] :
       {Case{1, 16, 1}, Case{64, 16, 4}, Case{256, 64, 64}, Case{8, 4096, 64},
        Case{8, 16, 4, 255}}) {
    options_ = {};
    options_.endpoint.max_paths = options_.endpoint.default_paths = paths;
    options_.endpoint.max_posted = posted;
    options_.endpoint.max_channels = channels;
    options_.endpoint.max_sent_runs = 128;
    options_.endpoint.chunk_paths = chunk_paths;
    options_.endpoint.chunk_bytes = chunk_paths == 0 ? 0 : 65'536;
    fenced_path_ = 0;
    epoch_ = 0;
    start(options_);
    from_ = pair_->address(0);
    pair_->pause(0, true);
    const size_t before = end(1).bytes_held();
    size_t most = before;
    uint64_t taken = 0;
    for (int i = 0; i < 40'000 && end(1).connections() == 1; ++i) {
      random_.below(2) == 0 ? send_data() : send_control();
      if (i % 64 == 0) pair_->run_for(micros(5));
      most = std::max(most, end(1).bytes_held());
      taken += end(1).statistics(server_) != nullptr ? 1 : 0;
    }
    EXPECT_GT(taken, 30'000u) << "it was ended early";
    std::printf("[ MEASURED ] %d paths, %u posted, %u channels: %zu bytes, then %zu of %llu\n",
                paths, posted, channels, before, most,
                static_cast<unsigned long long>(before + stated_bound(options_.endpoint)));
    EXPECT_LE(most, before + stated_bound(options_.endpoint));
  }
}

}  // namespace
}  // namespace heddle::transport
