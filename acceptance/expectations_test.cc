// Expectations: what a file may say, and what a user reads where it is wrong.
#include "acceptance/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;

TEST(Expectations, TakesEveryKey) {
  const Result<Expectations> read = parse_expectations(
      "version = 1\npair_share = \"90%\"\nlink_share = \"80%\"\ncollective_share = \"60%\"\n"
      "all_to_all_share = \"55%\"\n"
      "incast_share = \"50%\"\nerrors = \"0.001%\"\nretransmitted = \"2%\"\n"
      "victim_latency = \"3ms\"\nmtu = 9000\nroutes = 4\n",
      "expect.toml");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_DOUBLE_EQ(read->pair_share, 0.9);
  EXPECT_DOUBLE_EQ(read->link_share, 0.8);
  EXPECT_DOUBLE_EQ(read->collective_share, 0.6);
  EXPECT_DOUBLE_EQ(read->all_to_all_share, 0.55);
  EXPECT_DOUBLE_EQ(read->incast_share, 0.5);
  EXPECT_EQ(read->errors_per_million, 10u);
  EXPECT_EQ(read->retransmitted_per_million, 20'000u);
  EXPECT_EQ(read->victim_latency, millis(3));
  EXPECT_EQ(read->mtu_bytes, 9000u);
  EXPECT_EQ(read->routes, 4u);
}

TEST(Expectations, LeavesOutWhatTheTopologyKnows) {
  const Result<Expectations> read = parse_expectations("version = 1\n", "expect.toml");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->mtu_bytes);
  EXPECT_FALSE(read->routes);
  EXPECT_FALSE(read->victim_latency);
}

TEST(Expectations, NamesTheLineThatIsWrong) {
  for (const char* const line :
       {"pair_share = 0.9", "bandwidth = \"9%\"", "mtu = 0", "victim_latency = \"soon\""}) {
    const auto read = parse_expectations(std::string("version = 1\n") + line, "expect.toml");
    ASSERT_FALSE(read) << line;
    EXPECT_THAT(read.error().what, HasSubstr("expect.toml:2")) << line;
    EXPECT_FALSE(read.error().todo.empty());
  }
  EXPECT_EQ(parse_expectations("pair_share = \"9%\"", "expect.toml").error().code,
            ErrorCode::kVersion);
}

TEST(Expectations, RefusesThresholdsThatJudgeNothing) {
  for (const char* const line :
       {"pair_share = \"0%\"", "link_share = \"0%\"", "collective_share = \"0%\"",
        "all_to_all_share = \"0%\"", "training_share = \"0%\"", "incast_share = \"0%\"",
        "errors = \"100%\"", "retransmitted = \"100%\""}) {
    const auto read = parse_expectations(std::string("version = 1\n") + line, "expect.toml");
    ASSERT_FALSE(read) << line;
    EXPECT_THAT(read.error().message(), HasSubstr("judges nothing")) << line;
  }
  EXPECT_TRUE(parse_expectations("version = 1\nerrors = \"0%\"\npair_share = \"100%\"", "e"));
}

}  // namespace
}  // namespace heddle::acceptance
