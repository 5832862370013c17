// What a user sets is what ranks do.
#include "collectives/configured.h"

#include <gtest/gtest.h>

namespace heddle::collectives {
namespace {

Config config_of(std::vector<std::string> environment) {
  ConfigSources sources;
  sources.environment = std::move(environment);
  return std::move(Config::load(config_keys(), sources)).value();
}

TEST(Configured, RanksAcceptAndNoticeSilenceSooner) {
  const engine::Options usual = configured_rank_options(config_of({})).value();
  EXPECT_TRUE(usual.transport.accept);
  EXPECT_EQ(usual.transport.peer_dead_after, seconds(3));
  const engine::Options set =
      configured_rank_options(config_of({"HEDDLE_RANK_DEAD_AFTER_MS=700"})).value();
  EXPECT_EQ(set.transport.peer_dead_after, millis(700));
}

TEST(Configured, AlgorithmsArePinnedByName) {
  const auto options = configured_communicator_options(
      config_of({"HEDDLE_ALGORITHM=allreduce:tree,alltoall:bruck", "HEDDLE_CHUNK_BYTES=4096"}));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->tuning.choose(Collective::kAllReduce, 4, 1), Algorithm::kTree);
  EXPECT_EQ(options->tuning.choose(Collective::kAllToAll, 4, 1 << 30), Algorithm::kBruck);
  EXPECT_EQ(options->tuning.chunk_bytes, 4096U);
}

TEST(Configured, TheModelIsFittedUnlessItsNumbersAreFixed) {
  EXPECT_TRUE(configured_communicator_options(config_of({}))->tuning.to_be_measured);
  EXPECT_FALSE(
      configured_communicator_options(config_of({"HEDDLE_TUNING=fixed"}))->tuning.to_be_measured);
}

TEST(Configured, AlgorithmsThatDoNotExistAreNamed) {
  for (const char* text :
       {"allreduce", "allreduce:fast", "sumall:ring", "barrier:ring", "allreduce:ring,,"}) {
    const auto options =
        configured_communicator_options(config_of({std::string("HEDDLE_ALGORITHM=") + text}));
    ASSERT_FALSE(options) << text;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalid);
    EXPECT_NE(options.error().message().find(text), std::string::npos);
  }
  const auto options =
      configured_communicator_options(config_of({"HEDDLE_ALGORITHM=alltoall:ring"}));
  EXPECT_NE(options.error().message().find("pairwise, bruck"), std::string::npos);
}

}  // namespace
}  // namespace heddle::collectives
