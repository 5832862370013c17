// See model_shape.h.
#include "planner/model_shape.h"

namespace heddle::planner {
namespace {

uint64_t latent_attention_parameters(const ModelShape& model) {
  const LatentAttention& latent = model.latent;
  const uint64_t head = latent.rope_dim + latent.nope_dim;
  // A compressed vector has a norm of its own.
  const uint64_t query = latent.query_rank > 0
                             ? latent.query_rank * (model.hidden + 1 + model.heads * head)
                             : model.hidden * model.heads * head;
  const uint64_t key_value =
      model.hidden * (latent.key_value_rank + latent.rope_dim) + latent.key_value_rank +
      latent.key_value_rank * model.heads * (latent.nope_dim + latent.value_dim);
  return query + key_value + model.heads * latent.value_dim * model.hidden;
}

uint64_t ffn_parameters(const ModelShape& model, uint64_t inner) {
  const uint64_t weights = (model.gated ? 3 : 2) * model.hidden * inner;
  return model.biases && inner > 0 ? weights + inner + model.hidden : weights;
}

uint64_t norm_parameters(const ModelShape& model) {
  return model.biases ? 2 * model.hidden : model.hidden;
}

// Of a layer with experts, without the routed ones: the router and the shared experts.
uint64_t beside_experts(const ModelShape& model) {
  return model.hidden * model.experts + ffn_parameters(model, model.shared_ffn);
}

// All but the routed experts.
uint64_t dense_parameters(const ModelShape& model) {
  const uint64_t each_layer = attention_parameters(model) + 2 * norm_parameters(model);
  const uint64_t embeddings = (model.tied ? 1 : 2) * model.vocabulary * model.hidden;
  return model.layers * each_layer +
         (model.layers - model.expert_layers()) * ffn_parameters(model, model.ffn) +
         model.expert_layers() * beside_experts(model) + embeddings +
         model.positions * model.hidden + norm_parameters(model);
}

}  // namespace

uint64_t attention_parameters(const ModelShape& model) {
  if (model.latent.key_value_rank > 0) return latent_attention_parameters(model);
  const uint64_t query = model.heads * model.head_dim;
  const uint64_t key_value = 2 * model.key_value_heads * model.head_dim;
  uint64_t count = model.hidden * (query + key_value) + query * model.hidden;
  if (model.biases || model.qkv_biases) count += query + key_value;
  if (model.biases) count += model.hidden;
  if (model.head_norms) count += 2 * model.head_dim;
  return count;
}

uint64_t expert_parameters(const ModelShape& model) {
  return model.experts > 0 ? ffn_parameters(model, model.expert_ffn) : 0;
}

uint64_t routed_parameters(const ModelShape& model) {
  return model.expert_layers() * model.experts * expert_parameters(model);
}

uint64_t parameters(const ModelShape& model) {
  if (!model.has_shape()) return model.parameters_alone;
  return dense_parameters(model) + routed_parameters(model);
}

uint64_t parameters_of_token(const ModelShape& model) {
  if (!model.has_shape()) return model.parameters_alone;
  return dense_parameters(model) +
         model.expert_layers() * model.experts_of_token * expert_parameters(model);
}

double training_flops_of_token(const ModelShape& model, uint64_t sequence) {
  if (!model.has_shape()) return 6.0 * static_cast<double>(model.parameters_alone);
  // Looking up an embedding multiplies nothing; making logits does.
  const uint64_t looked_up =
      ((model.tied ? 0 : 1) * model.vocabulary + model.positions) * model.hidden;
  const uint64_t query_dim = model.latent.key_value_rank > 0
                                 ? model.latent.rope_dim + model.latent.nope_dim
                                 : model.head_dim;
  const uint64_t value_dim =
      model.latent.key_value_rank > 0 ? model.latent.value_dim : model.head_dim;
  const double attention = 6.0 * static_cast<double>(model.layers * model.heads) *
                           static_cast<double>((query_dim + value_dim) * sequence);
  return 6.0 * static_cast<double>(parameters_of_token(model) - looked_up) + attention;
}

}  // namespace heddle::planner
