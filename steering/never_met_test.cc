// Rules that never act, by class, place and confidence; and that those shipped and documented do.
#include "steering/never_met.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace heddle::steering {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> warnings_of(const std::string& text, const std::string& name) {
  const Result<Policy> policy = parse_policy(text, name);
  EXPECT_TRUE(policy) << policy.error().message();
  return policy ? never_met(*policy) : std::vector<std::string>{};
}

std::vector<std::string> warnings(const std::string& keys) {
  return warnings_of(
      "version = 1\n[[rule]]\nname = \"r\"\naction = \"command\"\ncommand = [\"x\"]\n"
      "confirm = []\n" +
          keys,
      "p.toml");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NeverMetTest, AClassThatIsNeverSureEnoughIsNamedWithItsMost) {
  EXPECT_THAT(warnings("class = [\"non_communication_hang\", \"communication_hang\"]\n"
                       "confidence = 0.95"),
              ElementsAre("the rule 'r' never acts on communication_hang: its confidence there is "
                          "at most 0.9, and the rule asks for 0.95"));
  EXPECT_THAT(warnings("class = [\"communication_hang\"]"), IsEmpty());
  EXPECT_THAT(warnings("class = [\"communication_hang\"]\nplace = [\"job\"]"),
              ElementsAre(HasSubstr("at most 0.6, and the rule asks for 0.9")));
  EXPECT_THAT(warnings("confidence = 1"), SizeIs(7));
}

TEST(NeverMetTest, AClassThatIsNeverThereIsNamed) {
  EXPECT_THAT(warnings("class = [\"communication_slow\", \"mismatch\"]\nplace = [\"rank\"]"),
              ElementsAre("the rule 'r' never acts on communication_slow, which has none of its "
                          "places"));
  EXPECT_THAT(warnings("place = [\"nic\"]"), IsEmpty());
  // Late data may be placed there; a hang and a mismatch are not.
  EXPECT_THAT(warnings("place = [\"route\"]"), IsEmpty());
  const auto never = warnings(
      "place = [\"route\"]\nclass = [\"communication_hang\", \"mismatch\", \"mixed_slow\"]");
  EXPECT_THAT(never, SizeIs(3));
  EXPECT_THAT(never, Each(HasSubstr("none of its places")));
  EXPECT_THAT(warnings("place = [\"route\"]\nclass = [\"path_failure\"]"), IsEmpty());
}

TEST(NeverMetTest, ShippedPoliciesCanActOnAllThatTheyName) {
  int policies = 0;
  for (const auto& entry : std::filesystem::directory_iterator("examples/steering")) {
    if (entry.path().extension() != ".toml") continue;
    const std::string path = entry.path().string();
    EXPECT_THAT(warnings_of(text_of(path), path), IsEmpty()) << path;
    ++policies;
  }
  EXPECT_GE(policies, 2);
}

TEST(NeverMetTest, DocumentedPoliciesCanActOnAllThatTheyName) {
  int policies = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = text_of(entry.path().string());
    const std::string fence = "```toml\n";
    for (size_t at = 0; (at = text.find(fence, at)) != std::string::npos;) {
      at += fence.size();
      const std::string block = text.substr(at, text.find("```", at) - at);
      if (block.find("[[rule]]") == std::string::npos) continue;
      EXPECT_THAT(warnings_of(block, entry.path().string()), IsEmpty()) << entry.path();
      ++policies;
    }
  }
  EXPECT_GE(policies, 4);
}

}  // namespace
}  // namespace heddle::steering
