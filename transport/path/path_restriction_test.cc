// Which paths carry payload where a caller fixed them, and what happens when these fail.
#include "transport/path/path_restriction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "events/events.h"
#include "transport/testing/pair_fixture.h"

namespace heddle::transport::testing {
namespace {

using events::RecoveryStep;

class FixedPathsTest : public PairFixture {
 protected:
  void open() {
    PairOptions options;
    options.drop = [this](int side, const TxBurst& burst, uint32_t) {
      return side == 0 && dead_.contains(burst.path);
    };
    start(std::move(options));
  }
  // The paths on which a message of 4 MiB leaves; empty: it did not arrive.
  std::set<uint16_t> carriers() {
    const std::vector<uint64_t> before = sent();
    const size_t done = ended(0).size() + 1;
    receive(0, kMessage, done);
    send(0, kMessage, done);
    if (!run_until_completed(done, done) || !same(0, kMessage)) return {};
    const std::vector<uint64_t> after = sent();
    std::set<uint16_t> paths;
    for (uint16_t id = 0; id < after.size(); ++id) {
      if (after[id] > before[id]) paths.insert(id);
    }
    return paths;
  }
  Result<void> fix(const std::vector<uint16_t>& paths) {
    return end(0).post_paths(pair_->now(), client_, paths);
  }
  uint64_t steps(RecoveryStep step) {
    return end(0).statistics().recovery_by_step[static_cast<size_t>(step)];
  }

  static constexpr uint64_t kMessage = 4 << 20;
  std::set<uint16_t> dead_;

 private:
  std::vector<uint64_t> sent() {
    std::vector<uint64_t> bytes;
    for (const PathStatistics& path : end(0).path_statistics(client_)) {
      bytes.push_back(path.payload_bytes_sent);
    }
    return bytes;
  }
};

using Paths = std::set<uint16_t>;

TEST_F(FixedPathsTest, PayloadGoesOverTheFixedPathsOnly) {
  open();
  ASSERT_TRUE(fix({2, 5}));
  EXPECT_EQ(carriers(), (Paths{2, 5}));
  ASSERT_TRUE(fix({7}));
  EXPECT_EQ(carriers(), Paths{7});
}

TEST_F(FixedPathsTest, AnEmptyListFreesThemAll) {
  open();
  ASSERT_TRUE(fix({2}));
  ASSERT_EQ(carriers(), Paths{2});
  ASSERT_TRUE(fix({}));
  Paths used;
  for (int i = 0; i < 4; ++i) used.merge(carriers());  // stale paths are probed first
  EXPECT_GT(used.size(), 4u);
}

TEST_F(FixedPathsTest, TheOthersAreNotSetAside) {
  open();
  ASSERT_TRUE(fix({2}));
  ASSERT_EQ(carriers(), Paths{2});
  pair_->run_for(seconds(2));
  for (const PathStatistics& path : end(0).path_statistics(client_)) EXPECT_TRUE(path.active);
}

TEST_F(FixedPathsTest, OneThatFailsLeavesTheRestOfTheChoice) {
  open();
  ASSERT_TRUE(fix({2, 5}));
  dead_ = {2};
  ASSERT_FALSE(carriers().empty());
  EXPECT_EQ(carriers(), Paths{5});
  EXPECT_EQ(steps(RecoveryStep::kChoiceFailed), 0u);
}

TEST_F(FixedPathsTest, WhenAllFailPayloadTakesTheOthersUntilOneReturns) {
  open();
  ASSERT_TRUE(fix({2, 5}));
  dead_ = {2, 5};
  ASSERT_FALSE(carriers().empty()) << "the message did not arrive";
  EXPECT_EQ(steps(RecoveryStep::kChoiceFailed), 1u);
  const Paths others = carriers();
  EXPECT_GT(others.size(), 2u);
  EXPECT_FALSE(others.contains(2) || others.contains(5));

  dead_ = {2};
  pair_->run_for(seconds(1));
  EXPECT_EQ(steps(RecoveryStep::kChoiceReturned), 1u);
  EXPECT_EQ(carriers(), Paths{5});
}

TEST_F(FixedPathsTest, APathThatThereIsNotIsRefusedAndChangesNothing) {
  open();
  ASSERT_TRUE(fix({3}));
  const Result<void> refused = fix({2, 16});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(carriers(), Paths{3});
}

TEST_F(FixedPathsTest, BeforeItIsOpenAConnectionHasNoPaths) {
  make();
  client_ = connect();
  const Result<void> refused = fix({0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kClosed);
}

}  // namespace
}  // namespace heddle::transport::testing
