// SendTest: a SendController by itself, with a window that the test sets and acknowledgements that
// it makes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "transport/send/send_controller.h"
#include "transport/tx_batch.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {

// A window that the test sets; it records its samples.
class FixedController final : public Controller {
 public:
  void on_ack(Nanos, const AckSample& sample) override { acks.push_back(sample); }
  void on_loss(Nanos, const LossSample& sample) override { losses.push_back(sample); }
  void on_spurious_loss(Nanos) override { ++spurious; }
  Bytes window() const override { return {window_bytes}; }
  BitsPerSec pacing_rate() const override { return rate; }

  uint64_t window_bytes = 1'000'000;
  BitsPerSec rate;
  std::vector<AckSample> acks;
  std::vector<LossSample> losses;
  int spurious = 0;
};

class Keeper final : public SentBurstListener {
 public:
  void on_acked(const SentBurst&, uint32_t, uint32_t count, bool) override { acked += count; }
  void on_lost(const SentBurst& run, uint32_t, uint32_t count, events::LossCause cause) override {
    lost += run.data ? count : 0;
    last_cause = cause;
  }
  uint32_t acked = 0;
  uint32_t lost = 0;
  events::LossCause last_cause = events::LossCause::kGap;
};

class SendTest : public ::testing::Test {
 protected:
  void open(uint16_t paths, uint32_t largest = SendController::kBaseDatagram,
            Nanos rtt = micros(100)) {
    auto controller = std::make_unique<FixedController>();
    controller_ = controller.get();
    SendOptions options;
    options.paths = paths;
    options.strategy_paths = {strategy_paths_, 4096, Immediate::kMaxAhead};
    options.controller = std::move(controller);
    options.selector = make_selector("round_robin");
    options.largest_datagram = largest;
    options.peer_window_bytes = 10'000'000;
    options.first_rtt = rtt;
    sender_.open(now_, std::move(options));
  }
  // `mark`: what else holds of it.
  void record(uint16_t path, uint32_t segments, uint32_t datagram,
              bool SentBurst::*mark = &SentBurst::data) {
    SentBurst* run = sender_.record(path, static_cast<uint8_t>(segments));
    ASSERT_NE(run, nullptr);
    run->data = run->*mark = true;
    run->header_bytes = kDataHeaderBytes;
    run->record.step = run->record.last = datagram - kDataHeaderBytes;
    sender_.sent(now_, path);
  }
  // One burst of at most `most` segments; false: none may leave.
  bool send(uint32_t most = kMaxBurstSegments) {
    if (!sender_.poll_quota(now_, random_, quota_)) return false;
    record(quota_.path, std::min(most, quota_.segments), quota_.datagram_bytes);
    sender_.end_burst();
    return true;
  }
  static AckFrame frame_of(uint16_t path, std::initializer_list<NumberRange> ranges) {
    AckFrame frame;
    frame.path = path;
    for (const NumberRange& range : ranges) frame.ranges[frame.range_count++] = range;
    return frame;
  }
  bool ack(uint16_t path, std::initializer_list<NumberRange> ranges, uint32_t marked = 0) {
    AckFrame frame = frame_of(path, ranges);
    frame.marked = marked;
    const bool known = sender_.on_ack(now_, Nanos{}, frame);
    sender_.after_acks(now_);
    return known;
  }
  void wait(Nanos span) {
    const Nanos end = now_ + span;
    while (sender_.next_timeout() <= end) {
      now_ = std::max(now_, sender_.next_timeout());
      sender_.handle_timeout(now_);
      drain_probes();
    }
    now_ = end;
  }
  // What a connection does with probes: a small packet each.
  void drain_probes() {
    uint16_t path = 0;
    while (sender_.poll_probe(path)) {
      ++probes_[path];
      ASSERT_NE(sender_.record(path, 1), nullptr);
      sender_.sent(now_, path);
    }
  }
  // Six bursts, of which the first three are lost and remembered.
  void lose_three() {
    for (int i = 0; i < 6; ++i) record(0, 1, 100);
    now_ += micros(100);
    ASSERT_TRUE(ack(0, {{4, 6}}));
    ASSERT_EQ(keeper_.lost, 3u);
    ASSERT_EQ(pool_.lent(), 3u);
  }
  // A probe of a size, recorded; its bytes, 0 for none.
  uint32_t probe_size(uint16_t& path) {
    uint32_t bytes = 0;
    if (!sender_.poll_size_probe(now_, path, bytes)) return 0;
    SentBurst* run = sender_.record(path, 1);
    run->sizes_path = true;
    run->header_bytes = bytes;
    sender_.sent(now_, path);
    return bytes;
  }
  uint64_t steps(events::RecoveryStep step) const {
    return statistics_.recovery_by_step[static_cast<size_t>(step)];
  }
  PathStatistics path(uint16_t id) {
    std::vector<PathStatistics> all;
    sender_.fill(all);
    return all[id];
  }

  uint16_t strategy_paths_ = 0;  // of the next open(), behind those of datagrams
  Statistics statistics_;
  SentBurstPool pool_{4096};
  Keeper keeper_;
  Observer observer_{nullptr, statistics_};
  SendController sender_{pool_, observer_, 7, keeper_};
  FixedController* controller_ = nullptr;
  Random random_{1};
  SendQuota quota_;
  std::map<uint16_t, int> probes_;
  Nanos now_ = seconds(10);
};

}  // namespace heddle::transport
