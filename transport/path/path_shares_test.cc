// How a connection's bursts are shared among its paths when some of them were slow, or lost much,
// and are well again.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "transport/send/send_controller.h"

namespace heddle::transport {
namespace {

class OpenController final : public Controller {
 public:
  void on_ack(Nanos, const AckSample&) override {}
  void on_loss(Nanos, const LossSample&) override {}
  void on_spurious_loss(Nanos) override {}
  Bytes window() const override { return {64'000'000}; }
  BitsPerSec pacing_rate() const override { return {}; }
};

class NullListener final : public SentBurstListener {
 public:
  void on_acked(const SentBurst&, uint32_t, uint32_t, bool) override {}
  void on_lost(const SentBurst&, uint32_t, uint32_t, events::LossCause) override {}
};

class SharesTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kPaths = 64;
  static constexpr Nanos kTrip = micros(100);
  static constexpr Nanos kGap = micros(3);  // between bursts: a path gets one in two round trips

  struct PathModel {
    Nanos trip = kTrip;
    bool loses = false;  // every second burst
    Nanos last_arrival;
    uint64_t numbers = 0;
    uint64_t bursts = 0;
  };
  struct Arrival {
    Nanos at;
    uint16_t path;
    uint64_t number;
  };

  SharesTest() {
    SendOptions options;
    options.paths = kPaths;
    options.controller = std::make_unique<OpenController>();
    options.selector = make_selector("two_choices");
    options.largest_datagram = SendController::kBaseDatagram;
    options.peer_window_bytes = uint64_t{1} << 30;
    options.first_rtt = kTrip;
    sender_.open(now_, std::move(options));
  }

  void record(uint16_t path, bool data) {
    SentBurst* run = sender_.record(path, 1);
    ASSERT_NE(run, nullptr);
    run->data = data;
    if (data) {
      run->header_bytes = kDataHeaderBytes;
      run->record.step = run->record.last = 1000;
    }
    sender_.sent(now_, path);
    PathModel& way = models_[path];
    ++way.numbers;
    if (way.loses && way.numbers % 2 == 0) return;
    way.last_arrival = std::max(way.last_arrival, now_ + way.trip);
    arrivals_.push_back({way.last_arrival, path, way.numbers});
  }

  void send() {
    SendQuota quota;
    ASSERT_TRUE(sender_.poll_quota(now_, random_, quota));
    ++models_[quota.path].bursts;
    record(quota.path, true);
    sender_.end_burst();
  }

  void run_for(Nanos span) {
    const Nanos end = now_ + span;
    for (; now_ < end; now_ += kGap) {
      for (size_t i = 0; i < arrivals_.size();) {
        if (arrivals_[i].at > now_) {
          ++i;
          continue;
        }
        AckFrame frame;
        frame.path = arrivals_[i].path;
        frame.ranges[frame.range_count++] = {arrivals_[i].number, arrivals_[i].number};
        ASSERT_TRUE(sender_.on_ack(now_, Nanos{}, frame));
        sender_.after_acks(now_);
        arrivals_.erase(arrivals_.begin() + static_cast<ptrdiff_t>(i));
      }
      while (sender_.next_timeout() <= now_) sender_.handle_timeout(now_);
      uint16_t silent = 0;
      while (sender_.poll_probe(silent)) record(silent, false);
      send();
    }
  }

  static bool troubled(size_t path) { return path % 8 == 1; }
  // How many bursts each path carries meanwhile, as parts of an even share.
  std::vector<double> shares(Nanos span) {
    for (PathModel& way : models_) way.bursts = 0;
    run_for(span);
    const double even = static_cast<double>(span / kGap) / kPaths;
    std::vector<double> shares;
    for (const PathModel& way : models_) shares.push_back(static_cast<double>(way.bursts) / even);
    return shares;
  }
  double share_of_troubled(Nanos span) {
    const std::vector<double> all = shares(span);
    double sum = 0;
    for (size_t i = 0; i < kPaths; ++i) sum += troubled(i) ? all[i] : 0;
    return sum / (kPaths / 8);
  }
  double least_share(Nanos span) {
    const std::vector<double> all = shares(span);
    return *std::min_element(all.begin(), all.end());
  }

  Statistics statistics_;
  SentBurstPool pool_{1 << 16};
  NullListener listener_;
  Observer observer_{nullptr, statistics_};
  SendController sender_{pool_, observer_, 7, listener_};
  Random random_{1};
  Nanos now_ = seconds(10);
  std::vector<PathModel> models_{kPaths};
  std::vector<Arrival> arrivals_;
};

// A path that was measured once while it was slow was drawn only against itself from then on: 64
// paths of a quiet loopback had shares of 0.0003 to 0.0086.
TEST_F(SharesTest, PathsThatWereSlowComeBackToTheirShare) {
  for (size_t i = 0; i < kPaths; ++i) models_[i].trip = troubled(i) ? 4 * kTrip : kTrip;
  run_for(millis(20));
  EXPECT_LT(share_of_troubled(millis(50)), 0.4) << "while they are slow";
  for (PathModel& way : models_) way.trip = kTrip;
  run_for(millis(20));
  EXPECT_GT(least_share(millis(100)), 0.5);
}

// What they had lost was forgotten only with what arrived on them, and nothing was sent there.
TEST_F(SharesTest, PathsThatLostMuchComeBackToTheirShare) {
  for (size_t i = 0; i < kPaths; ++i) models_[i].loses = troubled(i);
  run_for(millis(20));
  // Of each it is soon known what was lost, and then once in a while it is tried again.
  EXPECT_LT(share_of_troubled(millis(50)), 0.5) << "while they lose";
  for (PathModel& way : models_) way.loses = false;
  run_for(millis(20));
  EXPECT_GT(least_share(millis(100)), 0.5);
}

}  // namespace
}  // namespace heddle::transport
