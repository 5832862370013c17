// config.json of Hugging Face's transformers: see planner/model_file.h. Which keys a model_type has
// is read from the library's configuration classes (transformers, src/transformers/models/*/
// configuration_*.py).
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/model_file.h"
#include "planner/sizing/model_check.h"

namespace heddle::planner {
namespace {

using nlohmann::json;

// Takes whole numbers, and keeps the name of the first that is not one.
class Numbers {
 public:
  explicit Numbers(const json& config) : config_(config) {}

  uint64_t needed(const char* key) {
    if (!config_.contains(key) || config_[key].is_null()) {
      if (missing_.empty()) missing_ = fmt::format("'{}' is missing", key);
      return 0;
    }
    return given(key, 0);
  }

  uint64_t given(const char* key, uint64_t otherwise) {
    if (!config_.contains(key) || config_[key].is_null()) return otherwise;
    if (config_[key].is_number_unsigned()) return config_[key].get<uint64_t>();
    if (missing_.empty()) missing_ = fmt::format("'{}' is not a whole number", key);
    return otherwise;
  }

  bool flag(const char* key, bool otherwise) const {
    return config_.contains(key) && config_[key].is_boolean() ? config_[key].get<bool>()
                                                              : otherwise;
  }

  const std::string& missing() const { return missing_; }

 private:
  const json& config_;
  std::string missing_;
};

void read_gpt2(Numbers& numbers, ModelShape& model) {
  model.layers = numbers.needed("n_layer");
  model.hidden = numbers.needed("n_embd");
  model.heads = numbers.needed("n_head");
  model.vocabulary = numbers.needed("vocab_size");
  model.positions = numbers.given("n_positions", 1'024);
  model.ffn = numbers.given("n_inner", 4 * model.hidden);
  model.gated = false;
  model.biases = true;
  model.tied = numbers.flag("tie_word_embeddings", true);
}

// What all of the Llama family have.
void read_llama(Numbers& numbers, ModelShape& model) {
  model.layers = numbers.needed("num_hidden_layers");
  model.hidden = numbers.needed("hidden_size");
  model.heads = numbers.needed("num_attention_heads");
  model.key_value_heads = numbers.given("num_key_value_heads", model.heads);
  model.head_dim = numbers.given("head_dim", 0);
  model.ffn = numbers.needed("intermediate_size");
  model.vocabulary = numbers.needed("vocab_size");
  model.tied = numbers.flag("tie_word_embeddings", false);
}

void read_experts(const std::string& type, Numbers& numbers, ModelShape& model) {
  if (type == "mixtral") {
    model.experts = numbers.needed("num_local_experts");
    model.experts_of_token = numbers.needed("num_experts_per_tok");
    model.expert_ffn = model.ffn;
  } else if (type == "qwen3_moe") {
    model.experts = numbers.needed("num_experts");
    model.experts_of_token = numbers.needed("num_experts_per_tok");
    model.expert_ffn = numbers.needed("moe_intermediate_size");
  } else if (type == "deepseek_v3" || type == "deepseek_v2") {
    model.experts = numbers.needed("n_routed_experts");
    model.experts_of_token = numbers.needed("num_experts_per_tok");
    model.expert_ffn = numbers.needed("moe_intermediate_size");
    // Saturated: check_model() refuses what is too large.
    constexpr uint64_t kFactor = uint64_t{1} << 31;
    model.shared_ffn = std::min(numbers.given("n_shared_experts", 0), kFactor) *
                       std::min(model.expert_ffn, kFactor);
    model.dense_layers = numbers.given("first_k_dense_replace", 0);
    model.latent = {.query_rank = numbers.given("q_lora_rank", 0),
                    .key_value_rank = numbers.needed("kv_lora_rank"),
                    .rope_dim = numbers.needed("qk_rope_head_dim"),
                    .nope_dim = numbers.needed("qk_nope_head_dim"),
                    .value_dim = numbers.needed("v_head_dim")};
    model.head_dim = model.latent.rope_dim + model.latent.nope_dim;
  }
}

}  // namespace

Result<ModelShape> read_hugging_face(std::string_view text, const std::string& file) {
  const auto wrong = [&file](std::string why, std::string todo) {
    return fail(ErrorCode::kInvalid, "cannot read " + file, std::move(why), std::move(todo));
  };
  const json config = json::parse(text, nullptr, false);
  if (!config.is_object()) {
    return wrong("it is not a JSON object", "give the config.json of a model");
  }
  const auto named = config.find("model_type");
  const std::string type =
      named != config.end() && named->is_string() ? named->get<std::string>() : "";
  static const std::set<std::string> kKnown = {"llama",       "mistral",     "qwen2",
                                               "qwen3",       "mixtral",     "qwen3_moe",
                                               "deepseek_v2", "deepseek_v3", "gpt2"};
  if (kKnown.count(type) == 0) {
    return wrong(fmt::format("its model_type '{}' is not one whose parameters are known", type),
                 "describe the model in TOML (docs/how-to/size_a_cluster.md), or give "
                 "--parameters; known are deepseek_v2, deepseek_v3, gpt2, llama, mistral, "
                 "mixtral, qwen2, qwen3, qwen3_moe");
  }
  ModelShape model{.name = file, .source = file};
  Numbers numbers(config);
  if (type == "gpt2") {
    read_gpt2(numbers, model);
  } else {
    read_llama(numbers, model);
    read_experts(type, numbers, model);
    model.qkv_biases = type == "qwen2" || numbers.flag("attention_bias", false);
    model.head_norms = type == "qwen3" || type == "qwen3_moe";
  }
  if (!numbers.missing().empty()) {
    return wrong(numbers.missing(), fmt::format("a config.json of type {} has it", type));
  }
  return check_model(model, file);
}

}  // namespace heddle::planner
