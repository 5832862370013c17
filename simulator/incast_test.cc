// Many senders to one receiver, over the whole stack, with receiver credits. All figures are in
// simulated time and are the same in every run.
#include "simulator/testing/incast.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "base/testing/sanitized.h"

namespace heddle::simulator {
namespace {

struct Case {
  uint32_t senders = 8;
  uint64_t message_bytes = 65'536;
  uint64_t queue_bytes = 75'000;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.senders << " senders of " << one.message_bytes << " bytes, queues of "
       << one.queue_bytes;
}

IncastOptions options_of(const Case& one) {
  IncastOptions options;
  options.senders = one.senders;
  options.message_bytes = one.message_bytes;
  options.queue = {one.queue_bytes};
  options.rounds = one.message_bytes > 100'000 ? 4 : 20;
  if (one.senders > 100) options.rounds = one.message_bytes > 100'000 ? 2 : 8;
  return options;
}

double in_ideals(const IncastResult& result, uint32_t percent) {
  return static_cast<double>(result.percentile(percent).count) /
         static_cast<double>(result.ideal.count);
}

class CreditIncastTest : public testing::TestWithParam<Case> {};

TEST_P(CreditIncastTest, MessagesTakeLittleLongerThanTheLinkAndAVictimKeepsItsRate) {
  IncastOptions options = options_of(GetParam());
  const IncastResult result = run_incast(options);
  ASSERT_TRUE(result.done);
  EXPECT_EQ(result.times.size(), size_t{options.senders} * options.rounds);
  EXPECT_LE(in_ideals(result, 50), 1.15);
  EXPECT_LE(in_ideals(result, 99), 1.3);
  EXPECT_GE(result.jain(), 0.95);
  EXPECT_EQ(result.drops, 0u);
  options.incast = false;
  const IncastResult alone = run_incast(options);
  EXPECT_GE(result.victim_rate, 0.9 * alone.victim_rate);
  RecordProperty("p99_per_thousand_of_ideal", static_cast<int>(in_ideals(result, 99) * 1000));
  RecordProperty("jain_index_per_thousand", static_cast<int>(result.jain() * 1000));
  RecordProperty("queued_bytes_most", static_cast<int>(result.queued_most));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const uint32_t senders : {8u, 15u, 127u}) {
    if (kSanitized && senders == 127) continue;
    for (const uint64_t bytes : {uint64_t{65'536}, uint64_t{1} << 20}) {
      for (const uint64_t queue : {75'000u, 300'000u, 2'000'000u}) {
        all.push_back({senders, bytes, queue});
      }
    }
  }
  return all;
}
std::string case_name(const testing::TestParamInfo<Case>& info) {
  return std::to_string(info.param.senders) + "_of_" + std::to_string(info.param.message_bytes) +
         "_queue_" + std::to_string(info.param.queue_bytes);
}
INSTANTIATE_TEST_SUITE_P(Shapes, CreditIncastTest, testing::ValuesIn(cases()), case_name);

// The benefit of credits: without them the same rounds lose packets and retransmit them.
TEST(IncastTest, WithoutCreditsAShallowQueueOverflows) {
  IncastOptions options = options_of({15, 65'536, 75'000});
  options.congestion = "cubic";
  const IncastResult result = run_incast(options);
  ASSERT_TRUE(result.done);
  EXPECT_GT(result.drops, 100u);
  EXPECT_GT(in_ideals(result, 99), 1.2);
}

// 2 MB messages at 100 Gb/s with a configured rate: the tail is within 3% of the rate without
// headers.
TEST(IncastTest, WithAConfiguredRateTheTailIsNearTheLink) {
  for (const uint32_t senders : {15u, 127u}) {
    if (kSanitized && senders == 127) continue;
    IncastOptions options;
    options.senders = senders;
    options.message_bytes = 2'000'000;
    options.rate = gigabits_per_s(100);
    options.receive_rate = options.rate;
    options.queue = {2'000'000};
    options.mtu_bytes = 9000;
    options.rounds = senders > 100 ? 1 : 3;
    const IncastResult result = run_incast(options);
    ASSERT_TRUE(result.done);
    const double headers = 9038.0 / (8972 - 40);
    EXPECT_LE(in_ideals(result, 100), 1.03 * headers) << senders;
    EXPECT_EQ(result.drops, 0u);
  }
}

}  // namespace
}  // namespace heddle::simulator
