// Documents of probes come back as they were, and parts add up.
#include "probing/documents.h"

#include <gtest/gtest.h>

namespace heddle::probing {
namespace {

TEST(ProbingDocumentsTest, SpecsComeBackAsTheyWere) {
  SendSpec spec;
  spec.round = {.run = UINT64_MAX, .port = 18706, .nics = {{0, "10.0.0.1"}, {7, "fd00::1"}}};
  spec.packets_per_s = 500;
  spec.tasks = {{TaskKind::kTrace, 0, 7, 24'000, 32, 0, 0},
                {TaskKind::kTrain, 0, 7, 24'001, 1, 2, 9}};
  const Result<SendSpec> read = parse_send_spec(text_of(spec));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->round.run, UINT64_MAX);
  EXPECT_EQ(read->round.nics[1].address, "fd00::1");
  EXPECT_EQ(read->packets_per_s, 500u);
  EXPECT_EQ(read->tasks, spec.tasks);
  EXPECT_EQ(parse_round_spec(text_of(spec.round))->port, 18706);
}

TEST(ProbingDocumentsTest, PartsOfSenderAndReceiverAddUp) {
  const FlowKey key{0, 1, 24'000};
  Observations sent{.nics = {}, .flows = {}, .packets = 10};
  sent.flows[key].sent = 10;
  sent.flows[key].hops = {
      {.sent = 1, .answered = 1, .router = "10.1.0.1", .round_trip_min = micros(9)}};
  Observations received{.nics = {}, .flows = {}};
  received.flows[key].delivered = 9;
  received.flows[key].routers = 1;
  received.flows[key].train_rates = {megabits_per_s(200)};
  Observations all{.nics = {{"h0", 0, ""}, {"h1", 0, ""}}, .flows = {}};
  ASSERT_TRUE(add_part(json_of(sent).dump(), all));
  ASSERT_TRUE(add_part(json_of(received).dump(), all));
  const FlowProbes& flow = all.flows.at(key);
  EXPECT_EQ(all.packets, 10u);
  EXPECT_EQ(flow.sent, 10u);
  EXPECT_EQ(flow.delivered, 9u);
  EXPECT_EQ(flow.routers, 1u);
  EXPECT_EQ(flow.hops.at(0).router, "10.1.0.1");
  EXPECT_EQ(flow.train_rates.at(0), megabits_per_s(200));
  EXPECT_FALSE(flow.hops.at(0).varies);

  sent.flows[key].hops[0].router = "10.1.0.2";
  ASSERT_TRUE(add_part(json_of(sent).dump(), all));
  EXPECT_TRUE(all.flows.at(key).hops.at(0).varies);
}

TEST(ProbingDocumentsTest, OtherTextIsRefused) {
  Observations all{.nics = {{"h0", 0, ""}}, .flows = {}};
  for (const char* const text : {"", "[]", "{}", R"({"packets":0,"flows":[[0]]})",
                                 R"({"packets":0,"flows":[[0,9,1,[],0,0,null,null,[],0]]})"}) {
    EXPECT_FALSE(add_part(text, all).has_value()) << text;
  }
  EXPECT_FALSE(parse_send_spec("{}").has_value());
  EXPECT_FALSE(parse_round_spec("x").has_value());
}

}  // namespace
}  // namespace heddle::probing
