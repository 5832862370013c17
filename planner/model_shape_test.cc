// Parameter counts against the published ones of public models.
#include "planner/model_shape.h"

#include <gtest/gtest.h>

#include "planner/model_file.h"
#include "planner/presets.h"

namespace heddle::planner {
namespace {

uint64_t parameters_of(const char* name) {
  const Result<ModelShape> model = find_model(name);
  EXPECT_TRUE(model.has_value());
  return parameters(*model);
}

// By hand for llama-3-8b: a layer has 4096 x (4096 + 2 x 1024 + 4096) + 3 x 4096 x 14336 + 2 x 4096
// = 218,112,000; 32 of them, 2 x 128256 x 4096 of embeddings and 4096 of a norm.
TEST(ModelShape, CountsParametersOfPublicModels) {
  EXPECT_EQ(parameters_of("llama-3-8b"), 8'030'261'248u);
  EXPECT_EQ(parameters_of("llama-3-70b"), 70'553'706'496u);
  EXPECT_EQ(parameters_of("llama-3-405b"), 405'853'388'800u);
  EXPECT_EQ(parameters_of("llama-2-7b"), 6'738'415'616u);
  EXPECT_EQ(parameters_of("mixtral-8x7b"), 46'702'792'704u);
  EXPECT_NEAR(static_cast<double>(parameters_of("deepseek-v3")), 671e9, 1e9);
  EXPECT_NEAR(static_cast<double>(parameters_of("gpt3-175b")), 175e9, 1e9);
}

// Attention's product once overflowed to 1.55e19 "parameters".
TEST(ModelShape, SizesWhoseProductOverflowsAreRefused) {
  const auto document = parse_document(
      "layers = 10000000\nhidden = 1\nheads = 10000000\nhead_dim = 10000000\nvocabulary = 1\n"
      "ffn = 1\n",
      "m.toml");
  ASSERT_TRUE(document.has_value());
  const Result<ModelShape> model = read_model(*document, "m.toml");
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().why.find("more than 10^15 parameters"), std::string::npos);
}

TEST(ModelShape, SharedExpertsOfAHuggingFaceConfigurationDoNotWrapAround) {
  const Result<ModelShape> model = read_hugging_face(
      R"({"model_type": "deepseek_v3", "num_hidden_layers": 2, "hidden_size": 8,
          "num_attention_heads": 1, "vocab_size": 1, "intermediate_size": 1,
          "n_routed_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 2,
          "n_shared_experts": 9223372036854775809, "kv_lora_rank": 1, "qk_rope_head_dim": 1,
          "qk_nope_head_dim": 1, "v_head_dim": 1})",
      "config.json");
  ASSERT_FALSE(model.has_value());
}

TEST(ModelShape, UnknownNamesListThePresets) {
  const Result<ModelShape> model = find_model("llama-9");
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().why.find("llama-3-405b"), std::string::npos);
}

}  // namespace
}  // namespace heddle::planner
