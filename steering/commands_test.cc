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

TEST(CommandsTest, ANodeThatAnOperatorDrainedStaysDrained) {
  const Rule drain = rule(ActionKind::kSlurmDrain);
  const std::string begin = "NodeName=h1 Arch=x86_64 CoresPerSocket=1 ";
  const std::string idle = begin + "State=IDLE ThreadsPerCore=1\n";
  const std::string theirs = begin + "State=IDLE+DRAIN Weight=1 Reason=bad fan [root@2026]\n";
  const std::string ours = begin + "State=MIXED+DRAIN Reason=heddle: mismatch, rule r1 [root@x]\n";
  EXPECT_THAT(question_of(drain, {.host = "h1"}),
              ElementsAre("scontrol", "-o", "show", "node", "h1"));
  EXPECT_FALSE(objection_of(drain, {.host = "h1"}, false, idle));
  EXPECT_THAT(objection_of(drain, {.host = "h1"}, false, theirs)->why,
              HasSubstr("it is drained: bad fan"));
  EXPECT_TRUE(objection_of(drain, {.host = "h1"}, false, theirs)->already);
  EXPECT_FALSE(objection_of(drain, {.host = "h1"}, true, ours));
  EXPECT_THAT(objection_of(drain, {.host = "h1"}, true, theirs)->why,
              HasSubstr("for another reason: bad fan"));
  EXPECT_TRUE(objection_of(drain, {.host = "h1"}, true, idle)->already);
  EXPECT_FALSE(objection_of(drain, {.host = "h1"}, false, "")->already);
}

TEST(CommandsTest, ANodeOfSlurmThatIsDownOrAnswersForAnotherStays) {
  const Rule drain = rule(ActionKind::kSlurmDrain);
  const auto why = [&drain](const std::string& answer, bool undo) {
    const auto objection = objection_of(drain, {.host = "h1"}, undo, answer);
    return objection && !objection->already ? objection->why : "";
  };
  const std::string begin = "NodeName=h1 Arch=x86_64 ";
  for (const bool undo : {false, true}) {
    const std::string ours = " Reason=heddle: mismatch, rule r1 [root@x]\n";
    EXPECT_THAT(why(begin + "State=DOWN*+DRAIN" + ours, undo), HasSubstr("its state is DOWN"));
    EXPECT_THAT(why(begin + "State=IDLE+MAINT+DRAIN" + ours, undo), HasSubstr("MAINT"));
    EXPECT_THAT(why(begin + "State=FAILING+DRAIN" + ours, undo), HasSubstr("FAILING"));
    EXPECT_THAT(why("NodeName=h2 State=IDLE+DRAIN" + ours, undo), HasSubstr("answer for h1"));
    EXPECT_THAT(why(begin + "State=IDLE\nNodeName=h2 State=IDLE\n", undo), HasSubstr("for h1"));
  }
  EXPECT_THAT(why(begin + "State=IDLE Reason=look at its fan [root@x]\n", false),
              HasSubstr("of another origin: look at its fan"));
  EXPECT_EQ(why(begin + "State=IDLE Reason=heddle: x\n", false), "");
}

TEST(CommandsTest, ATaintOfAnOperatorStays) {
  const Rule taint = rule(ActionKind::kKubernetesTaint);
  const auto ask = [&taint](const std::string& taints, bool undo) {
    return objection_of(taint, {.host = "h1"}, undo,
                        R"({"metadata":{"name":"h1"},"spec":{)" + taints + "}}");
  };
  const auto with = [](const std::string& value) {
    return R"("taints":[3,{"key":"example.com/fault","effect":"NoExecute"},)"
           R"({"key":"example.com/fault","value":")" +
           value + R"(","effect":"NoSchedule"}])";
  };
  EXPECT_THAT(question_of(taint, {.host = "h1"}),
              ElementsAre("kubectl", "get", "node", "h1", "-o", "json"));
  EXPECT_FALSE(ask("", false));
  EXPECT_FALSE(ask(with("true"), true));
  EXPECT_TRUE(ask(with("true"), false)->already);
  EXPECT_TRUE(ask("", true)->already);
  for (const bool undo : {false, true}) {
    EXPECT_THAT(ask(with("bad fan"), undo)->why, HasSubstr("another value: 'bad fan'"));
    EXPECT_FALSE(ask(with("bad fan"), undo)->already);
    for (const char* const answer : {"", "[]", "{}", R"({"metadata":3})", R"({"metadata":{}})",
                                     R"({"metadata":{"name":"h2"}})"}) {
      const auto objection = objection_of(taint, {.host = "h1"}, undo, answer);
      ASSERT_TRUE(objection) << answer;
      EXPECT_FALSE(objection->already) << answer;
    }
  }
}

TEST(CommandsTest, ACommandMayDoSomethingElseForEachClass) {
  const Rule command = rule(ActionKind::kCommand);
  monitor::Alarm other = alarm();
  other.verdict.what = insight::VerdictClass::kMismatch;
  EXPECT_EQ(effect_of(command, other), "command r1 mismatch");
  EXPECT_NE(effect_of(command, alarm()), effect_of(command, other));
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
  EXPECT_THAT(words(taint, false),
              ElementsAre("kubectl", "taint", "nodes", "h1", "example.com/fault=true:NoSchedule"));
  EXPECT_THAT(words(taint, true),
              ElementsAre("kubectl", "taint", "nodes", "h1", "example.com/fault:NoSchedule-"));
  EXPECT_EQ(effect_of(taint, alarm()), "kubernetes_taint example.com/fault:NoSchedule");
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
