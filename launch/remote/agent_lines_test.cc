// Agent lines: orders are read as they are written.
#include "launch/remote/agent_lines.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace heddle::launch {
namespace {

AgentOrder order() {
  AgentOrder made;
  made.command.words = {"heddle", "perf", "a\nb"};
  made.command.settings = {"HEDDLE_RANK=3", "EMPTY="};
  made.command.secrets = {{"HEDDLE_KEY_FILE", "text\n"}};
  made.command.grace = seconds(7);
  made.command.start_at = seconds(1'800'000'000);
  made.folder = "/data/job";
  made.longest_wait = seconds(2);
  made.command.input = "{\"tasks\": []}\n";
  return made;
}

TEST(AgentLinesTest, AnOrderIsOneLineAndReadAsItWasWritten) {
  const std::string line = order_line(order()).value();
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto read = parse_order(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->command.words, order().command.words);
  EXPECT_EQ(read->command.settings, order().command.settings);
  EXPECT_EQ(read->command.secrets, order().command.secrets);
  EXPECT_EQ(read->command.grace, order().command.grace);
  EXPECT_EQ(read->command.start_at, order().command.start_at);
  EXPECT_EQ(read->folder, order().folder);
  EXPECT_EQ(read->command.input, order().command.input);
  EXPECT_EQ(read->longest_wait, order().longest_wait);
}

TEST(AgentLinesTest, MalformedOrdersAreRefused) {
  for (const char* const line :
       {"", "{}", "[1]", "heddle", "{\"heddle_agent\":1}", "{\"heddle_agent\":\"1\"}",
        "{\"heddle_agent\":1,\"words\":[],\"settings\":[],\"secrets\":[],\"grace_ns\":1,"
        "\"folder\":\"/\"}",
        "{\"heddle_agent\":1,\"words\":[1],\"settings\":[],\"secrets\":[],\"grace_ns\":1,"
        "\"folder\":\"/\"}"}) {
    const auto read = parse_order(line);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << line;
  }
}

TEST(AgentLinesTest, WordsThatAreNoUtf8AreRefusedAndNotChanged) {
  AgentOrder strange = order();
  strange.command.words.push_back(
      "a\xff"
      "b");
  EXPECT_FALSE(order_line(strange));
}

TEST(AgentLinesTest, AnOrderOfAnotherVersionNamesTheMachineToUpgrade) {
  const std::string line = order_line(order()).value();
  const auto own = nlohmann::json::parse(line).at("heddle_agent").get<uint64_t>();
  for (const uint64_t version : {own - 1, own + 1, uint64_t{1} << 63}) {
    const auto read = parse_order("{\"heddle_agent\":" + std::to_string(version) + "}");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kVersion);
    EXPECT_EQ(read.error().why, "its order is of version " + std::to_string(version) +
                                    ", this agent reads version " + std::to_string(own));
    EXPECT_EQ(read.error().todo, version < own ? "upgrade heddle on the machine that calls"
                                               : "upgrade heddle on the machine that was called");
  }
}

TEST(AgentLinesTest, TheGreetingHasTheNumberOfTheLines) {
  const std::string line = order_line(order()).value();
  EXPECT_EQ(kGreeting,
            "\nheddle agent " + nlohmann::json::parse(line).at("heddle_agent").dump() + "\n");
}

}  // namespace
}  // namespace heddle::launch
