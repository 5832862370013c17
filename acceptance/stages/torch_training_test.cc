// ResNet-18's training: documents of its ranks that are no results of it.
#include "acceptance/stages/torch_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;

// Lists within lists: a copy of it takes more than the stack.
std::string deep_list() {
  constexpr size_t kLevels = size_t{1} << 20;
  return std::string(kLevels, '[') + std::string(kLevels, ']');
}

// Ranks print what they print on a fabric without a fault, but for one value.
std::function<Answer(const Asked&)> answers_with(const std::string& key, const std::string& value) {
  return [key, value](const Asked& asked) {
    Answer answer = healthy_answer(asked);
    if (!asked.is("heddle_torch.train")) return answer;
    Json document = Json::parse(answer.output);
    document.erase(key);
    answer.output = document.dump();
    answer.output.insert(answer.output.rfind('}'), ",\"" + key + "\":" + value);
    return answer;
  };
}

AcceptanceOptions options_with_torch() {
  AcceptanceOptions options;
  options.training.wanted = true;
  options.folder = "/nonexistent";
  return options;
}

// Ended the test with a signal.
TEST(TorchTraining, APartThatIsNestedDeepIsLeftOut) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = answers_with("split", deep_list());
  const StageMade made = made_by(run_training, fabric, options_with_torch());
  EXPECT_EQ(made.error, "");
  ASSERT_TRUE(made.report.data.contains("torch"));
  ASSERT_EQ(made.report.data["torch"].size(), 3U);
  EXPECT_EQ(made.report.data["torch"][1]["compute_s"], 0);
  EXPECT_EQ(made.report.data["torch"][1]["step_s"], 1);
}

TEST(TorchTraining, ADocumentThatIsNestedDeepIsRefusedWithASentence) {
  ScriptedFabric fabric(scripted_leaf_spine(2));
  fabric.answer = answers_with("backend", deep_list());
  AcceptanceOptions options = options_with_torch();
  options.stages = {"training"};
  const Result<Report> report = run_acceptance(fabric, options);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->stages.front().outcome, StageOutcome::kBroken);
  EXPECT_THAT(report->stages.front().reason, HasSubstr("stage 'training' cannot read a result"));
}

}  // namespace
}  // namespace heddle::acceptance
