// Documents of probes come back as they were, and parts add up.
#include "probing/documents.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace heddle::probing {
namespace {

const Part kSender{"h0", true};
const Part kReceiver{"h1", false};

TEST(ProbingDocumentsTest, SpecsComeBackAsTheyWere) {
  SendSpec spec;
  spec.round = {.run = UINT64_MAX,
                .port = 18706,
                .first_port = 24'000,
                .ports = 32,
                .lasts = seconds(12),
                .nics = {{0, "10.0.0.1"}, {7, "fd00::1"}}};
  spec.packets_per_s = 500;
  spec.tasks = {{TaskKind::kTrace, 0, 7, 24'000, 32, 0, 0},
                {TaskKind::kTrain, 0, 7, 24'001, 1, 2, 9}};
  const Result<SendSpec> read = parse_send_spec(text_of(spec));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(read->round.run, UINT64_MAX);
  EXPECT_EQ(read->round.nics[1].address, "fd00::1");
  EXPECT_EQ(read->packets_per_s, 500u);
  EXPECT_EQ(read->round.lasts, seconds(12));
  EXPECT_EQ(read->round.first_port, 24'000);
  EXPECT_EQ(read->round.ports, 32);
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
  ASSERT_TRUE(add_part(json_of(sent).dump(), kSender, all));
  ASSERT_TRUE(add_part(json_of(received).dump(), kReceiver, all));
  const FlowProbes& flow = all.flows.at(key);
  EXPECT_EQ(all.packets, 10u);
  EXPECT_EQ(flow.sent, 10u);
  EXPECT_EQ(flow.delivered, 9u);
  EXPECT_EQ(flow.routers, 1u);
  EXPECT_EQ(flow.hops.at(0).router, "10.1.0.1");
  EXPECT_EQ(flow.train_rates.at(0), megabits_per_s(200));
  EXPECT_FALSE(flow.hops.at(0).varies);

  sent.flows[key].hops[0].router = "10.1.0.2";
  ASSERT_TRUE(add_part(json_of(sent).dump(), kSender, all));
  EXPECT_TRUE(all.flows.at(key).hops.at(0).varies);
}

TEST(ProbingDocumentsTest, OtherTextIsRefused) {
  Observations all{.nics = {{"h0", 0, ""}}, .flows = {}};
  for (const char* const text :
       {"", "[]", R"({"heddle_probes":"1"})", R"({"heddle_probes":-1})", R"({"heddle_probes":1})",
        R"({"heddle_probes":1,"packets":0,"flows":[[0]]})",
        R"({"heddle_probes":1,"packets":0,"flows":[[0,9,1,[],0,0,null,null,[],0]]})"}) {
    const Result<void> added = add_part(text, kSender, all);
    ASSERT_FALSE(added.has_value()) << text;
    EXPECT_EQ(added.error().code, ErrorCode::kInvalid) << text;
  }
  EXPECT_FALSE(parse_send_spec("{}").has_value());
  EXPECT_FALSE(parse_round_spec("x").has_value());
}

TEST(ProbingDocumentsTest, AnotherVersionNamesTheHostToUpgrade) {
  Json sent = json_of(Observations{.nics = {}, .flows = {}});
  Json asked = Json::parse(text_of(SendSpec{}));
  const auto own = sent.at("heddle_probes").get<int64_t>();
  for (const int64_t other : {own - 1, own + 1}) {
    Observations all{.nics = {{"h0", 0, ""}}, .flows = {}};
    sent["heddle_probes"] = other;
    const Result<void> added = add_part(sent.dump(), kSender, all);
    ASSERT_FALSE(added.has_value());
    EXPECT_EQ(added.error().code, ErrorCode::kVersion);
    EXPECT_EQ(added.error().todo,
              other < own ? "upgrade heddle on h0" : "upgrade heddle on this machine");

    asked["heddle_probes"] = other;
    const char* const todo = other < own ? "upgrade heddle on the machine that calls"
                                         : "upgrade heddle on the machine that was called";
    EXPECT_EQ(parse_send_spec(asked.dump()).error().todo, todo);
    EXPECT_EQ(parse_round_spec(asked.dump()).error().todo, todo);
  }
  sent.erase("heddle_probes");  // as before there was a number
  Observations all{.nics = {{"h0", 0, ""}}, .flows = {}};
  EXPECT_EQ(add_part(sent.dump(), kSender, all).error().todo, "upgrade heddle on h0");
}

TEST(ProbingDocumentsTest, TasksThatNoSenderCanCarryOutAreRefused) {
  SendSpec good;
  good.round = {.run = 1,
                .port = 18706,
                .first_port = 24'000,
                .ports = 1,
                .lasts = seconds(1),
                .nics = {{0, "10.0.0.1"}, {1, "10.0.0.2"}}};
  good.packets_per_s = 500;
  const Task task{TaskKind::kHop, 0, 1, 24'000, 1, 1, 1};
  good.tasks = {task};
  ASSERT_TRUE(parse_send_spec(text_of(good)).has_value());
  const auto expect_refused = [&](const Task& bad, uint32_t packets_per_s) {
    SendSpec spec = good;
    spec.tasks = {bad};
    spec.packets_per_s = packets_per_s;
    EXPECT_FALSE(parse_send_spec(text_of(spec)).has_value()) << text_of(spec);
  };
  expect_refused(task, 0);
  expect_refused(task, UINT32_MAX);
  expect_refused({TaskKind::kHop, 0, 1, 24'000, 1, 0, 1}, 500);
  expect_refused({TaskKind::kHop, 0, 1, 24'000, 1, 65, 1}, 500);
  expect_refused({TaskKind::kTrace, 0, 1, 65'535, 2, 0, 0}, 500);
  expect_refused({TaskKind::kTrace, 0, 1, 24'000, 0, 0, 0}, 500);
  expect_refused({TaskKind::kTrace, 70'000, 1, 24'000, 1, 0, 0}, 500);
}

// With a flow from h0 to h1 of which ten packets were sent.
Observations ten_sent() {
  Observations all{.nics = {{"h0", 0, ""}, {"h1", 0, ""}, {"h2", 0, ""}}, .flows = {}};
  all.flows[{0, 1, 24'000}].sent = 10;
  return all;
}

void expect_refused(const Part& part, const std::string& flows, const std::string& why) {
  Observations all = ten_sent();
  const Result<void> added =
      add_part("{\"heddle_probes\":1,\"packets\":0,\"flows\":[" + flows + "]}", part, all);
  ASSERT_FALSE(added.has_value()) << flows;
  EXPECT_NE(added.error().what.find(part.host), std::string::npos) << added.error().message();
  EXPECT_EQ(added.error().why, why) << flows;
}

TEST(ProbingDocumentsTest, WhatALyingSenderReportsIsRefused) {
  const auto hop = [](const std::string& fields) {
    return "[0,1,24000,[[" + fields + "]],20,0,null,null,[],0]";
  };
  expect_refused(kSender, hop(R"(1,1,"\u001b[2J\n[[fault]]",false,5,0)"),
                 "a router without an address");
  expect_refused(kSender, hop(R"(1,1,"",false,5,0)"), "a router without an address");
  expect_refused(kSender, hop(R"(1,2,"1.1.1.1",false,5,0)"), "more answers than probes");
  expect_refused(kSender, hop(R"(1,1,"1.1.1.1",false,-9223372036854775808,0)"),
                 "a delay out of bounds");
  expect_refused(kSender, hop(R"(4294967296,1,"1.1.1.1",false,5,0)"), "a count out of bounds");
  expect_refused(kSender, hop(R"(-1,1,"1.1.1.1",false,5,0)"), "a count out of bounds");
  std::string hops = R"([1,1,"1.1.1.1",false,5,0])";
  for (int i = 0; i < 64; ++i) hops += R"(,[1,1,"1.1.1.1",false,5,0])";
  expect_refused(kSender, "[0,1,24000,[" + hops + "],20,0,null,null,[],0]",
                 "a route of too many hops");
  expect_refused(kSender, "[0,1,24000,[],20,20,1,5,[],0]", "arrivals in what a sender reports");
  expect_refused(kSender, "[1,0,24000,[],20,0,null,null,[],0]", "a flow of other hosts");
  expect_refused(kSender, "[0,1,1,[],1,0,null,null,[],0],[0,1,1,[],1,0,null,null,[],0]",
                 "one flow twice");
}

TEST(ProbingDocumentsTest, WhatALyingReceiverReportsIsRefused) {
  expect_refused(kReceiver, "[0,1,24000,[],0,20,null,null,[],0]", "more arrivals than were sent");
  expect_refused(kReceiver, "[0,1,24000,[],0,5,4294967295,null,[],0]", "a route of too many hops");
  expect_refused(kReceiver, "[0,1,24000,[],0,5,1,9223372036854775807,[],0]",
                 "a delay out of bounds");
  expect_refused(kReceiver, "[0,1,24000,[],0,5,1,-9223372036854775808,[],0]",
                 "a delay out of bounds");
  expect_refused(kReceiver, "[0,1,24000,[],5,5,null,null,[],0]",
                 "probes in what a receiver reports");
  expect_refused(kReceiver, "[0,2,24000,[],0,0,null,null,[],0]", "a flow of other hosts");
  expect_refused(kReceiver, "[0,1,24001,[],0,0,1,null,[],0]", "a flow that nothing was sent of");
}

}  // namespace
}  // namespace heddle::probing
