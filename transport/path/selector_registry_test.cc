// The table of selectors, and what each of them must do.
#include <gtest/gtest.h>

#include <vector>

#include "transport/path/selector.h"

namespace heddle::transport {
namespace {

TEST(SelectorRegistry, KnowsItsNamesAndNoOthers) {
  const auto names = selector_names();
  EXPECT_EQ(std::vector<std::string_view>(names.begin(), names.end()),
            (std::vector<std::string_view>{"reps", "two_choices", "round_robin", "plan"}));
  for (const std::string_view name : names) EXPECT_NE(make_selector(name), nullptr);
  for (const std::string_view name : {"", "random", "two_choice", "TWO_CHOICES"}) {
    EXPECT_EQ(make_selector(name), nullptr) << name;
  }
}

// Whatever the samples say, the answer is one of the paths, and over time every usable path is
// used.
TEST(SelectorRegistry, EverySelectorChoosesAmongTheUsableAndForgetsNone) {
  for (const std::string_view name : selector_names()) {
    const auto selector = make_selector(name);
    Random random(11);
    for (const size_t count : {1, 2, 5, 64, 256}) {
      std::vector<PathSample> paths(count);
      std::vector<uint32_t> times(count);
      for (size_t i = 0; i < count; ++i) paths[i].path = static_cast<uint16_t>(3 * i);
      for (size_t i = 0; i < 400 * count; ++i) {
        PathSample& changed = paths[random.below(count)];
        changed.latest_rtt = {static_cast<int64_t>(random.below(10'000'000))};
        changed.in_flight = {random.below(2) * random.below(1'000'000)};
        changed.recent_losses = static_cast<uint32_t>(random.below(4));
        changed.marked = random.below(2) == 0;
        const uint32_t at = selector->select(paths, random);
        ASSERT_LT(at, count) << name;
        ++times[at];
        selector->on_sent(paths[at].path, {64'000});
        selector->on_ack(paths[at].path, paths[at], {64'000});
      }
      for (const uint32_t chosen : times) EXPECT_GT(chosen, 0u) << name;
    }
  }
}

}  // namespace
}  // namespace heddle::transport
