// Policy files: what rules mean, and each mistake with its line and what to write instead.
#include "steering/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace heddle::steering {
namespace {

using insight::PlaceKind;
using insight::VerdictClass;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Policy parsed(const std::string& text) {
  Result<Policy> policy = parse_policy(text, "p.toml");
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? std::move(*policy) : Policy{};
}

// The error of a file with this rule, or these lines before it.
std::string refused(const std::string& rule, const std::string& before = "") {
  const Result<Policy> policy =
      parse_policy("version = 1\n" + before + "[[rule]]\n" + rule, "p.toml");
  return policy ? "accepted" : policy.error().message();
}

constexpr const char* kDrain = "name = \"d\"\naction = \"slurm_drain\"\nconfirm = []\n";

TEST(PolicyTest, ARuleHasWhatTheFileSays) {
  const Policy policy = parsed(R"(version = 1
audit = "steering.jsonl"
host_names = "short"
hosts = ["node*"]
[limits]
actions_per_hour = 2
hosts = 3
hosts_within = "2h"
host_pause = "30m"
retry = "1m"
command_time = "20s"
[[rule]]
name = "hangs"
class = ["non_communication_hang", "communication_hang"]
place = ["rank", "nic"]
confidence = 0.95
persists = "1m"
confirm = ["probe", "{host}", "{peer}"]
confirm_status = 1
action = "command"
command = ["./drain", "{host}"]
undo_command = ["./resume", "{host}"]
)");
  EXPECT_EQ(policy.audit, "steering.jsonl");
  EXPECT_TRUE(policy.short_host_names);
  EXPECT_THAT(policy.hosts, ElementsAre("node*"));
  EXPECT_EQ(policy.limits.actions_per_hour, 2u);
  EXPECT_EQ(policy.limits.hosts, 3u);
  EXPECT_EQ(policy.limits.hosts_within, seconds(7200));
  EXPECT_EQ(policy.limits.host_pause, seconds(1800));
  EXPECT_EQ(policy.limits.retry, seconds(60));
  EXPECT_EQ(policy.limits.command_time, seconds(20));
  ASSERT_EQ(policy.rules.size(), 1u);
  const Rule& rule = policy.rules[0];
  EXPECT_THAT(rule.classes,
              ElementsAre(VerdictClass::kNonCommunicationHang, VerdictClass::kCommunicationHang));
  EXPECT_THAT(rule.places, ElementsAre(PlaceKind::kRank, PlaceKind::kSenderNic,
                                       PlaceKind::kReceiverNic, PlaceKind::kNic));
  EXPECT_EQ(rule.confidence, 0.95);
  EXPECT_EQ(rule.persists, seconds(60));
  EXPECT_THAT(rule.confirm, ElementsAre("probe", "{host}", "{peer}"));
  EXPECT_EQ(rule.confirm_status, 1);
  EXPECT_THAT(rule.action.command, ElementsAre("./drain", "{host}"));
  EXPECT_TRUE(rule.action.undo);
}

TEST(PolicyTest, DefaultsAreCareful) {
  const Policy policy = parsed("version = 1\n[[rule]]\n" + std::string(kDrain));
  EXPECT_EQ(policy.limits.hosts, 1u);
  EXPECT_EQ(policy.rules[0].confidence, 0.9);
  EXPECT_EQ(policy.rules[0].persists, seconds(30));
  EXPECT_FALSE(policy.rules[0].action.undo);
  EXPECT_EQ(policy.rules[0].places.size(), 4u);  // those that have a host
  EXPECT_THAT(policy.rules[0].classes, Not(Contains(VerdictClass::kFlapping)));
}

TEST(PolicyTest, ActionsOfKubernetesHaveTheirKeys) {
  const Policy policy = parsed(R"(version = 1
[[rule]]
name = "condition"
action = "kubernetes_condition"
undo = true
[[rule]]
name = "taint"
confirm = []
action = "kubernetes_taint"
taint = "example.com/network-fault=true:NoSchedule"
)");
  EXPECT_EQ(policy.rules[0].action.condition, "HeddleFault");
  EXPECT_TRUE(policy.rules[0].action.undo);
  EXPECT_EQ(policy.rules[1].action.taint_key, "example.com/network-fault");
  EXPECT_EQ(policy.rules[1].action.taint_value, "true");
  EXPECT_EQ(policy.rules[1].action.taint_effect, "NoSchedule");
}

TEST(PolicyTest, ARuleThatUsesTheEndsOfALinkIsForLinks) {
  const Policy policy = parsed(
      "version = 1\n[[rule]]\nname = \"l\"\naction = \"command\"\nconfirm = []\n"
      "command = [\"x\", \"{from}-{to}\"]\n");
  EXPECT_THAT(policy.rules[0].places, ElementsAre(PlaceKind::kLink));
}

TEST(PolicyTest, MistakesOfAFileHaveTheirLine) {
  const auto error_of = [](const std::string& text) {
    const Result<Policy> policy = parse_policy(text, "p.toml");
    return policy ? "accepted" : policy.error().message();
  };
  EXPECT_THAT(error_of(""), HasSubstr("write version = 1 at its top"));
  EXPECT_THAT(error_of("version = 2"), HasSubstr("this heddle reads version 1"));
  EXPECT_THAT(error_of("version = 1"), HasSubstr("write [[rule]] before each rule"));
  EXPECT_THAT(error_of("version = 1\nrule = []"), HasSubstr("there are 0 rules"));
  EXPECT_THAT(error_of("version = 1\nrules = []\n"), HasSubstr("rule' is missing"));
  EXPECT_THAT(error_of("version = 1\nrule = 3"), HasSubstr("p.toml:2: 'rule' has a value of"));
  EXPECT_THAT(error_of("version 1"), HasSubstr("p.toml:1"));
  EXPECT_THAT(refused(kDrain, "dry_run = true\n"), HasSubstr("p.toml:2: the key 'dry_run'"));
  EXPECT_THAT(refused(kDrain, "host_names = \"long\"\n"), HasSubstr("\"short\" to leave out"));
  EXPECT_THAT(refused(kDrain, "hosts = []\n"), HasSubstr("'hosts' names no host"));
  EXPECT_THAT(refused(kDrain, "limits = 3\n"), HasSubstr("write it as [limits]"));
  EXPECT_THAT(refused(kDrain, "[limits]\nactions_per_hour = 0\n"),
              HasSubstr("p.toml:3: 'actions_per_hour' is 0"));
  EXPECT_THAT(refused(kDrain, "[limits]\nper_hour = 1\n"),
              HasSubstr("known here: actions_per_hour, hosts"));
  EXPECT_THAT(refused(kDrain, "[limits]\nretry = \"0s\"\n"), HasSubstr("out of range"));
  EXPECT_THAT(refused(std::string(kDrain) + "[[rule]]\n" + kDrain),
              HasSubstr("p.toml:7: two rules have the name \"d\""));
}

TEST(PolicyTest, MistakesOfARuleSayWhatToWrite) {
  const std::string name = "name = \"d\"\n";
  const std::string drain = kDrain;
  EXPECT_THAT(refused("action = \"slurm_drain\""), HasSubstr("the key 'name' is missing"));
  EXPECT_THAT(refused("name = \"\"\naction = \"slurm_drain\""), HasSubstr("no letter"));
  EXPECT_THAT(refused(name), HasSubstr("the key 'action' is missing"));
  EXPECT_THAT(refused(name + "action = \"reboot\""), HasSubstr("p.toml:4: there is no action"));
  EXPECT_THAT(refused(name + "action = \"slurm_drain\""), HasSubstr("write confirm = []"));
  EXPECT_THAT(refused(drain + "class = [\"hang\"]"),
              HasSubstr("there is no class \"hang\" of faults (give names of "
                        "non_communication_hang, communication_hang, mismatch"));
  EXPECT_THAT(refused(drain + "class = []"), HasSubstr("'class' is empty"));
  EXPECT_THAT(refused(drain + "class = \"mismatch\""), HasSubstr("another type"));
  EXPECT_THAT(refused(drain + "place = [\"host\"]"),
              HasSubstr("rank, nic, link, route, group, job"));
  EXPECT_THAT(refused(drain + "place = [\"link\"]"), HasSubstr("has no host of its own"));
  EXPECT_THAT(refused(drain + "confidence = 97"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refused(drain + "persists = 30"), HasSubstr("like \"30s\""));
  EXPECT_THAT(refused(drain + "confirm_status = 1"), HasSubstr("there is no test"));
  EXPECT_THAT(refused(drain + "command = [\"x\"]"), HasSubstr("the key 'command' is not known"));
  EXPECT_THAT(refused(drain + "taint = \"a:NoSchedule\""), HasSubstr("'taint' is not known"));
  EXPECT_THAT(refused(name + "action = \"command\"\nconfirm = []"),
              HasSubstr("the key 'command' is missing"));
  const std::string command = name + "action = \"command\"\nconfirm = []\ncommand = ";
  EXPECT_THAT(refused(command + "[]"), HasSubstr("names no program"));
  EXPECT_THAT(refused(command + "\"drain\""), HasSubstr("another type"));
  EXPECT_THAT(refused(command + "[\"x\", \"{node}\"]"),
              HasSubstr("{node}, which is known to no fault (known here: {host}"));
  EXPECT_THAT(refused(command + "[\"x\", \"{host}\", \"{from}\"]"),
              HasSubstr("a rule for links, and one for ranks and NICs"));
  EXPECT_THAT(refused(command + "[\"x\", \"{to}\"]\nplace = [\"rank\"]"),
              HasSubstr("no {from} and {to}"));
  EXPECT_EQ(refused(command + "[\"x\", \"{}\", \"{ a }\"]"), "accepted");
  const std::string taint = name + "action = \"kubernetes_taint\"\nconfirm = []\ntaint = ";
  for (const char* const bad : {"\"fault\"", "\"a=b:Never\"", "\"-a:NoSchedule\"",
                                "\"a b=c:NoSchedule\"", "\"a/b/c:NoSchedule\"", "\"\""}) {
    EXPECT_THAT(refused(taint + bad), HasSubstr("'taint' is no taint")) << bad;
  }
  EXPECT_THAT(refused(taint + "\"a=b:NoExecute\""), HasSubstr("evicts the job's pods"));
  EXPECT_THAT(refused(name + "action = \"kubernetes_condition\"\ncondition = \"bad one\""),
              HasSubstr("no type of a condition"));
  for (const char* const own : {"Ready", "MemoryPressure", "NetworkUnavailable"}) {
    EXPECT_THAT(refused(name + "action = \"kubernetes_condition\"\ncondition = \"" + own + "\""),
                HasSubstr("is set by Kubernetes itself"));
  }
  EXPECT_THAT(refused(command + "[\"/opt/{host}\"]"), HasSubstr("in the name of its program"));
}

TEST(PolicyTest, ExamplesAreValid) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/steering")) {
    if (entry.path().extension() != ".toml") continue;
    const Result<Policy> policy = read_policy_file(entry.path().string());
    EXPECT_TRUE(policy) << policy.error().message();
    ++examples;
  }
  EXPECT_GE(examples, 2);
  for (const char* const page : {"docs/reference/policy.md", "docs/how-to/steer_a_job.md"}) {
    std::ifstream file(page);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::string fence = "```toml\n";
    ASSERT_NE(text.find(fence), std::string::npos) << page;
    for (size_t at = 0; (at = text.find(fence, at)) != std::string::npos;) {
      at += fence.size();
      const Result<Policy> policy = parse_policy(text.substr(at, text.find("```", at) - at), page);
      EXPECT_TRUE(policy) << policy.error().message();
    }
  }
}

}  // namespace
}  // namespace heddle::steering
