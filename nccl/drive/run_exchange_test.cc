// Start of a run: ranks with other options, other runs in the folder and missing ranks.
#include "nccl/drive/run_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "nccl/drive/failure.h"

namespace heddle::nccl {
namespace {

using ::testing::HasSubstr;

class MapExchange final : public Exchange {
 public:
  Result<void> put(const std::string& key, std::string_view value) override {
    if (!values.try_emplace(key, value).second)
      return fail(ErrorCode::kInUse, "put", "it is there");
    return {};
  }
  Result<std::optional<std::string>> get(const std::string& key) override {
    const auto found = values.find(key);
    if (found == values.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  std::map<std::string, std::string> values;
};

// Rank 0 publishes its options and ends, as if it had been killed.
std::string begin_run(MapExchange& exchange, DriveOptions options) {
  options.stopped = [] { return true; };
  EXPECT_FALSE(join_run(exchange, options, "Net"));
  std::string run = exchange.values.at("run");
  run.resize(run.find('\n'));
  EXPECT_EQ(exchange.values.erase(run + ".failed"), 1U);
  return run;
}

std::string refusal(MapExchange& exchange, DriveOptions options,
                    const std::string& plugin = "Net") {
  options.rank = 1;
  options.patience = nanos(0);
  const Result<RunExchange> joined = join_run(exchange, options, plugin);
  EXPECT_FALSE(joined);
  return joined ? "" : joined.error().message();
}

TEST(JoinRun, FirstOptionThatDiffersIsNamed) {
  struct Case {
    DriveOptions first;
    DriveOptions other;
    const char* text;
  };
  const Case cases[] = {
      {{}, {.check = true}, "rank 1 has --check, rank 0 has not"},
      {{.check = true}, {}, "rank 0 has --check, rank 1 has not"},
      {{.size = 3}, {}, "rank 1 has --ranks 2, rank 0 has --ranks 3"},
      {{},
       {.pattern = TrafficPattern::kTree},
       "rank 1 has --pattern tree, rank 0 has --pattern ring"},
      {{},
       {.protocol = WireProtocol::kLl},
       "rank 1 has --protocol ll, rank 0 has --protocol simple"},
      {{}, {.bytes = 5}, "rank 1 has --bytes 5, rank 0 has --bytes 67108864"},
      {{}, {.message_bytes = 5}, "rank 1 has --message 5, rank 0 has not"},
      {{}, {.channels = 2}, "rank 1 has --channels 2, rank 0 has --channels 1"},
      {{.iterations = 3}, {}, "rank 1 has --time 2s, rank 0 has not"},
      {{.iterations = 3},
       {.iterations = 4},
       "rank 1 has --iterations 4, rank 0 has --iterations 3"},
      {{}, {.duration = millis(1'500)}, "rank 1 has --time 1.5s, rank 0 has --time 2s"},
      {{.zero_every = 2}, {}, "rank 0 has --zero-every 2, rank 1 has not"},
  };
  for (const Case& each : cases) {
    MapExchange exchange;
    const std::string run = begin_run(exchange, each.first);
    const std::string message = refusal(exchange, each.other);
    EXPECT_THAT(message, HasSubstr(each.text));
    EXPECT_THAT(message, HasSubstr("(start all ranks with the same options)"));
    // Rank 0 ends with the same reason.
    RunExchange of_run(exchange, run);
    const auto failure = read_failure(of_run);
    ASSERT_TRUE(failure && *failure);
    EXPECT_THAT((*failure)->message(), HasSubstr(each.text));
    EXPECT_FALSE(is_plugin_failure((*failure)->code));
  }
}

TEST(JoinRun, PluginThatDiffersIsNamed) {
  MapExchange exchange;
  begin_run(exchange, {});
  EXPECT_THAT(refusal(exchange, {}, "Other"),
              HasSubstr("rank 1 has the plugin Other, rank 0 has the plugin Net"));
}

TEST(JoinRun, RanksMayDifferInTheirDevice) {
  MapExchange exchange;
  begin_run(exchange, {});
  EXPECT_THAT(refusal(exchange, {.device = 1}), HasSubstr("waiting for rank 0"));
}

TEST(JoinRun, SecondRankZeroAndSecondRankOfANumberAreRefusedAndHarmNoRun) {
  MapExchange exchange;
  const std::string run = begin_run(exchange, {});
  const Result<RunExchange> second = join_run(exchange, {}, "Net");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  ASSERT_TRUE(exchange.put(run + ".joined.1", ""));
  EXPECT_THAT(refusal(exchange, {.check = true}),
              HasSubstr("a rank of the same number, has used it"));
  EXPECT_EQ(exchange.values.count(run + ".failed"), 0U);
}

TEST(JoinRun, RankThatTheRunHasNotEndsAloneOnceThatRunHasBegun) {
  MapExchange exchange;
  const std::string run = begin_run(exchange, {});
  ASSERT_TRUE(exchange.put(run + ".start", ""));
  EXPECT_THAT(refusal(exchange, {.size = 3}), HasSubstr("cannot use the exchange folder"));
  EXPECT_EQ(exchange.values.count(run + ".failed"), 0U);
}

// Publishes the start as soon as a rank has joined, before that rank looks again.
class QuickExchange final : public Exchange {
 public:
  explicit QuickExchange(MapExchange& exchange) : exchange_(exchange) {}
  Result<void> put(const std::string& key, std::string_view value) override {
    if (Result<void> put = exchange_.put(key, value); !put) return put;
    const size_t joined = key.find(".joined.1");
    if (joined == std::string::npos) return {};
    return exchange_.put(key.substr(0, joined) + ".start", "");
  }
  Result<std::optional<std::string>> get(const std::string& key) override {
    return exchange_.get(key);
  }

 private:
  MapExchange& exchange_;
};

TEST(JoinRun, RunThatStartsRightAfterTheLastRankHasJoinedHasThatRank) {
  MapExchange exchange;
  const std::string run = begin_run(exchange, {});
  QuickExchange quick(exchange);
  DriveOptions options;
  options.rank = 1;
  const Result<RunExchange> joined = join_run(quick, options, "Net");
  ASSERT_TRUE(joined) << joined.error().message();
  EXPECT_EQ(joined->run(), run);
}

TEST(JoinRun, RunsHaveNumbersOfTheirOwnInTheNamesOfTheirValues) {
  MapExchange one;
  MapExchange other;
  EXPECT_NE(begin_run(one, {}), begin_run(other, {}));
  RunExchange exchange(one, "a");
  ASSERT_TRUE(exchange.put("key", "value"));
  EXPECT_EQ(one.values.at("a.key"), "value");
  EXPECT_EQ(*RunExchange(one, "b").get("key"), std::nullopt);
}

TEST(JoinRun, RunThatWasStoppedIsRefusedWithARemedy) {
  MapExchange exchange;
  DriveOptions options{.stopped = [] { return true; }};
  const Result<RunExchange> stopped = join_run(exchange, options, "Net");
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  DriveOptions late{.rank = 1};
  const Result<RunExchange> joined = join_run(exchange, late, "Net");
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().message(), "rank 0 was stopped (delete the folder before the next run)");
}

TEST(JoinRun, MissingRanksAreReportedOnceAndNamedAtTheEnd) {
  MapExchange exchange;
  std::vector<std::string> reported;
  DriveOptions options{.size = 4, .patience = millis(20)};
  options.report_after = nanos(0);
  options.waiting = [&](const std::string& ranks) { reported.push_back(ranks); };
  const Result<RunExchange> joined = join_run(exchange, options, "Net");
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(joined.error().message(), HasSubstr("waiting for ranks 1, 2, 3"));
  EXPECT_THAT(reported, ::testing::ElementsAre("ranks 1, 2, 3"));
}

TEST(Failure, FirstOneIsReportedByAllRanks) {
  MapExchange exchange;
  const Error first{ErrorCode::kTruncated, "message 3", "its bytes\ndiffer", "look"};
  EXPECT_EQ(publish_failure(exchange, 1, first).message(), first.message());
  const Error seen = publish_failure(exchange, 0, {ErrorCode::kPeerDead, "isend", "", ""});
  EXPECT_EQ(seen.code, ErrorCode::kTruncated);
  EXPECT_EQ(seen.message(), "rank 1 failed: message 3: its bytes differ (look)");
}

}  // namespace
}  // namespace heddle::nccl
