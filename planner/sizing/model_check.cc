// See model_check.h.
#include "planner/sizing/model_check.h"

#include <fmt/core.h>

#include <initializer_list>

namespace heddle::planner {
namespace {

// So that no product of sizes overflows: the largest public models are a thousandth of it.
constexpr uint64_t kLargest = 10'000'000;
constexpr uint64_t kMostParameters = uint64_t{1} << 50;

struct Needed {
  const char* name;
  uint64_t value;
};

}  // namespace

Result<ModelShape> check_model(ModelShape model, const std::string& file) {
  const auto wrong = [&file](std::string why, std::string todo) {
    return fail(ErrorCode::kInvalid, "cannot use the model of " + file, std::move(why),
                std::move(todo));
  };
  const bool all_dense = model.experts == 0 || model.dense_layers > 0;
  const std::initializer_list<Needed> needed = {{"layers", model.layers},
                                                {"hidden", model.hidden},
                                                {"heads", model.heads},
                                                {"vocabulary", model.vocabulary},
                                                {"ffn", all_dense ? model.ffn : 1}};
  for (const Needed& each : needed) {
    if (each.value == 0) {
      return wrong(fmt::format("its size '{}' is missing", each.name), "add it");
    }
  }
  for (const uint64_t each :
       {model.layers, model.hidden, model.heads, model.key_value_heads, model.head_dim, model.ffn,
        model.vocabulary, model.positions, model.experts, model.expert_ffn, model.shared_ffn,
        model.latent.query_rank, model.latent.key_value_rank, model.latent.rope_dim,
        model.latent.nope_dim, model.latent.value_dim}) {
    if (each > kLargest) {
      return wrong(fmt::format("a size of {} is too large", each),
                   fmt::format("sizes are at most {}", kLargest));
    }
  }
  if (model.head_dim == 0 && model.latent.key_value_rank == 0) {
    if (model.hidden % model.heads != 0) {
      return wrong(
          fmt::format("hidden size {} is not divisible by {} heads", model.hidden, model.heads),
          "give the size of a head");
    }
    model.head_dim = model.hidden / model.heads;
  }
  if (model.key_value_heads == 0) model.key_value_heads = model.heads;
  if (model.experts > 0 && (model.experts_of_token == 0 || model.expert_ffn == 0 ||
                            model.experts_of_token > model.experts)) {
    return wrong(fmt::format("of {} experts of inner size {} a token uses {}", model.experts,
                             model.expert_ffn, model.experts_of_token),
                 "correct the three numbers");
  }
  if (model.dense_layers > model.layers) {
    return wrong(fmt::format("{} of {} layers are dense", model.dense_layers, model.layers),
                 "correct the two numbers");
  }
  // Each factor is bounded, so doubles decide without overflow.
  const double estimate =
      static_cast<double>(model.layers) * static_cast<double>(model.hidden) *
      (3.0 * static_cast<double>(model.ffn) +
       3.0 * static_cast<double>(model.experts) * static_cast<double>(model.expert_ffn));
  if (estimate > static_cast<double>(kMostParameters)) {
    return wrong("it has more than 10^15 parameters", "correct its sizes");
  }
  return model;
}

}  // namespace heddle::planner
