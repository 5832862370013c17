// See model_check.h.
#include "planner/sizing/model_check.h"

#include <fmt/core.h>

#include <initializer_list>

#include "planner/sizing/params.h"

namespace heddle::planner {
namespace {

struct Needed {
  const char* name;
  uint64_t value;
};

// At least as many as the model has, in doubles, which do not overflow.
double most_parameters(const ModelShape& model) {
  const auto of = [](uint64_t size) { return static_cast<double>(size); };
  const LatentAttention& latent = model.latent;
  const double head = of(model.head_dim + latent.rope_dim + latent.nope_dim + latent.value_dim);
  const double heads = of(model.heads + model.key_value_heads) * head;
  const double ranks = of(latent.query_rank + latent.key_value_rank);
  const double attention = 2 * (of(model.hidden) + ranks + 1) * (heads + head + ranks + 1);
  const double inner = of(model.ffn) + of(model.shared_ffn) + of(model.experts) +
                       of(model.experts) * of(model.expert_ffn);
  const double layer = attention + 3 * (of(model.hidden) + 1) * (inner + 2);
  return of(model.layers) * layer +
         (2 * of(model.vocabulary) + of(model.positions) + 2) * of(model.hidden);
}

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
    if (each > params::sizing::kLargestSize) {
      return wrong(fmt::format("a size of {} is too large", each),
                   fmt::format("sizes are at most {}", params::sizing::kLargestSize));
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
  if (most_parameters(model) > params::sizing::kMostParameters) {
    return wrong("it has more than 10^15 parameters", "correct its sizes");
  }
  return model;
}

}  // namespace heddle::planner
