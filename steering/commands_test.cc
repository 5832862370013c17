// Commands of actions, and what a scheduler's answer has against them.
#include "steering/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "steering/decision.h"

namespace heddle::steering {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kAt = 1'764'208'320'000'000'000;  // 2025-11-27T01:52:00Z

monitor::Alarm alarm() {
  monitor::Alarm made;
  made.number = 1;
  made.verdict.what = insight::VerdictClass::kNonCommunicationHang;
  made.verdict.place = {insight::PlaceKind::kRank, {3}, "h1"};
  made.verdict.confidence = 0.97;
  made.verdict.summary = "rank 3 on h1 never started \"allreduce\"\n; $(reboot)";
  return made;
}

Rule rule(ActionKind kind) {
  Rule made;
  made.name = "r1";
  made.action.kind = kind;
  made.action.condition = "HeddleFault";
  made.action.taint_key = "example.com/fault";
  made.action.taint_value = "true";
  made.action.taint_effect = "NoSchedule";
  return made;
}

std::vector<std::string> words(const Rule& rule, bool undo) {
  return command_of(rule, alarm(), {.host = "h1"}, undo, kAt).value();
}

TEST(CommandsTest, ADrainHasAReasonThatNamesTheMonitor) {
  const Rule drain = rule(ActionKind::kSlurmDrain);
  EXPECT_THAT(words(drain, false),
              ElementsAre("scontrol", "update", "nodename=h1", "state=drain",
                          "reason=heddle: non_communication_hang, confidence 97%, rule r1"));
  EXPECT_THAT(words(drain, true), ElementsAre("scontrol", "update", "nodename=h1", "state=resume"));
  EXPECT_FALSE(command_of(drain, alarm(), {}, false, kAt));
}

TEST(CommandsTest, WhatAnOperatorDidAtANodeOfSlurmStays) {
  const Rule drain = rule(ActionKind::kSlurmDrain);
  const std::string begin = "NodeName=h1 Arch=x86_64 CoresPerSocket=1 ";
  const std::string idle = begin + "State=IDLE ThreadsPerCore=1\n";
  const std::string theirs = begin + "State=IDLE+DRAIN Weight=1 Reason=bad fan [root@2026]\n";
  const std::string ours = begin + "State=MIXED+DRAIN Reason=heddle: mismatch, rule r1 [root@x]\n";
  EXPECT_THAT(question_of(drain, {.host = "h1"}),
              ElementsAre("scontrol", "-o", "show", "node", "h1"));
  EXPECT_FALSE(objection_of(drain, false, idle));
  EXPECT_THAT(objection_of(drain, false, theirs)->why, HasSubstr("it is drained: bad fan"));
  EXPECT_TRUE(objection_of(drain, false, theirs)->already);
  EXPECT_FALSE(objection_of(drain, true, ours));
  EXPECT_THAT(objection_of(drain, true, theirs)->why, HasSubstr("for another reason: bad fan"));
  EXPECT_TRUE(objection_of(drain, true, idle)->already);
  EXPECT_FALSE(objection_of(drain, false, "")->already);
}

TEST(CommandsTest, AConditionIsAPatchAsNodeProblemDetectorSendsIt) {
  const Rule condition = rule(ActionKind::kKubernetesCondition);
  const std::vector<std::string> set = words(condition, false);
  EXPECT_THAT(
      std::vector<std::string>(set.begin(), set.end() - 1),
      ElementsAre("kubectl", "patch", "node", "h1", "--subresource=status", "--type=strategic"));
  const std::string begin = "--patch=";
  const Json patch = Json::parse(set.back().substr(begin.size()));
  const Json expected = {
      {"type", "HeddleFault"},
      {"status", "True"},
      {"reason", "NonCommunicationHang"},
      {"message",
       "[non_communication_hang] rank 3 on h1 never started \"allreduce\"?; $(reboot) "
       "(confidence 97%)"},
      {"lastHeartbeatTime", "2025-11-27T01:52:00Z"},
      {"lastTransitionTime", "2025-11-27T01:52:00Z"}};
  EXPECT_EQ(patch, (Json{{"status", {{"conditions", Json::array({expected})}}}}));
  const Json over = Json::parse(words(condition, true).back().substr(begin.size()));
  EXPECT_EQ(over["status"]["conditions"][0]["status"], "False");
  EXPECT_EQ(over["status"]["conditions"][0]["reason"], "NoFault");
}

TEST(CommandsTest, ATaintIsSetAndRemoved) {
  const Rule taint = rule(ActionKind::kKubernetesTaint);
  EXPECT_THAT(words(taint, false), ElementsAre("kubectl", "taint", "--overwrite", "nodes", "h1",
                                               "example.com/fault=true:NoSchedule"));
  EXPECT_THAT(words(taint, true),
              ElementsAre("kubectl", "taint", "nodes", "h1", "example.com/fault:NoSchedule-"));
  EXPECT_EQ(effect_of(taint), "kubernetes_taint example.com/fault:NoSchedule");
}

TEST(CommandsTest, CommandsOfAPolicyGetHostsAndNothingElseOfTheRecording) {
  Rule command = rule(ActionKind::kCommand);
  command.action.command = {"./drain", "{host}", "--from={peer}"};
  command.action.undo_command = {"./resume", "{host}"};
  EXPECT_THAT(command_of(command, alarm(), {.host = "h1", .peer = "h2"}, false, kAt).value(),
              ElementsAre("./drain", "h1", "--from=h2"));
  EXPECT_THAT(words(command, true), ElementsAre("./resume", "h1"));
  EXPECT_FALSE(command_of(command, alarm(), {.host = "h1"}, false, kAt));
}

}  // namespace
}  // namespace heddle::steering
