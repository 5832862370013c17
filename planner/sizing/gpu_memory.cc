// See gpu_memory.h.
#include "planner/sizing/gpu_memory.h"

#include <algorithm>

namespace heddle::planner {
namespace {

constexpr double kLogitBytes = 4;  // computed in float32 (Korthikanti et al., section 4.3)

double of(uint64_t count) { return static_cast<double>(count); }

struct AttentionValues {
  double whole = 0;   // compressed queries, keys and values
  double shared = 0;  // queries, keys, values, and what the output projection takes
};

AttentionValues attention_values(const ModelShape& model) {
  const LatentAttention& latent = model.latent;
  if (latent.key_value_rank == 0) {
    return {0, 2 * of((model.heads + model.key_value_heads) * model.head_dim)};
  }
  const uint64_t head = 2 * (latent.rope_dim + latent.nope_dim) + 2 * latent.value_dim;
  return {of(latent.query_rank + latent.key_value_rank + latent.rope_dim), of(model.heads * head)};
}

// Inputs of the activation function and of the matrix product behind it.
double ffn_values(const ModelShape& model, uint64_t inner) {
  return of((model.gated ? 3 : 2) * inner);
}

// Korthikanti et al., section 4.1, with the widths of the model: for GPT the sum is 34 h bytes and
// 5 a s of scores.
LayerValues values_of(const ModelShape& model, const JobShape& job, bool scores) {
  const AttentionValues attention = attention_values(model);
  // A routed token is an input and an output of each of its experts.
  const double expert =
      ffn_values(model, model.shared_ffn) +
      of(model.experts_of_token) * (ffn_values(model, model.expert_ffn) + 2 * of(model.hidden));
  const double with_experts = of(model.expert_layers()) / of(model.layers);
  LayerValues values;
  // Two norms, the attention and the feed-forward network keep their inputs.
  values.whole = 4 * of(model.hidden) + attention.whole;
  values.masks = model.biases ? 2 * of(model.hidden) : 0;
  values.shared = attention.shared + (1 - with_experts) * ffn_values(model, model.ffn) +
                  (model.experts > 0 ? with_experts * expert : 0);
  if (scores) {
    const double width = of(job.activation_bytes);
    values.scores = (model.biases ? 2 * width + 1 : width) * of(model.heads * job.sequence);
  }
  return values;
}

}  // namespace

GpuMemory::GpuMemory(const ModelShape& model, const JobShape& job, const MemoryQuestion& question,
                     bool last)
    : job_(job),
      question_(question),
      last_(last),
      dropout_(model.biases),
      hidden_(of(model.hidden)),
      vocabulary_(of(model.vocabulary)),
      values_(values_of(model, job, question.attention_scores)),
      layers_(of((model.layers + job.pipeline - 1) / job.pipeline)) {
  const double input = of((model.vocabulary + model.positions) * model.hidden);
  const double output = of(model.vocabulary * model.hidden);
  const double all_routed = of(routed_parameters(model));
  const double both = input + (model.tied ? 0 : output);
  layer_ = (of(parameters(model)) - all_routed - both) / of(model.layers);
  routed_ = all_routed / of(model.layers);
  embeddings_ = both;
  // Stages that share a tied matrix hold a copy each.
  if (job.pipeline > 1) embeddings_ = last ? output : input;
}

double GpuMemory::dense() const { return (layers_ * layer_ + embeddings_) / of(job_.tensor); }

double GpuMemory::routed() const { return layers_ * routed_ / of(job_.tensor * job_.expert); }

double GpuMemory::dense_ranks(uint64_t from) const {
  return job_.zero_stage >= from ? of(job_.data * job_.context) : 1;
}

double GpuMemory::routed_ranks(uint64_t from) const {
  return job_.zero_stage >= from ? of(job_.data * job_.context / job_.expert) : 1;
}

double GpuMemory::state_bytes(uint64_t from, double bytes) const {
  return (dense() / dense_ranks(from) + routed() / routed_ranks(from)) * bytes;
}

double GpuMemory::gathered_parameters() const {
  const double layer = layer_ + routed_ / of(job_.expert);
  return std::max(layer, embeddings_) / of(job_.tensor);
}

// FSDP has the parameters of two units at most, and the gradients of one.
double GpuMemory::gathered_bytes() const {
  if (job_.zero_stage < 3) return 0;
  return gathered_parameters() * (2 * of(job_.parameter_bytes) + of(job_.gradient_bytes));
}

double GpuMemory::tokens() const { return of(job_.microbatch * job_.sequence) / of(job_.context); }

double GpuMemory::sequence_ranks() const { return job_.sequence_parallel ? of(job_.tensor) : 1; }

double GpuMemory::layer_bytes() const {
  const double width = of(job_.activation_bytes);
  return tokens() * ((width * values_.whole + values_.masks) / sequence_ranks() +
                     (width * values_.shared + values_.scores) / of(job_.tensor));
}

double GpuMemory::input_bytes() const {
  return tokens() * of(job_.activation_bytes) * hidden_ / sequence_ranks();
}

// 1F1B; with chunks the interleaved schedule (Korthikanti et al., section 4.2.3).
double GpuMemory::microbatches() const {
  const double p = of(job_.pipeline);
  const double v = of(job_.chunks);
  double held = last_ ? 1 : p;
  if (job_.chunks > 1) held = last_ ? (v - 1) * p + 1 : v * p + p - 1;
  return std::min(held, of(job_.microbatches) * v) / v;
}

double GpuMemory::outputs_bytes() const {
  const bool first = job_.pipeline == 1 || !last_;
  double bytes = first && dropout_ ? tokens() * hidden_ / sequence_ranks() * microbatches() : 0;
  if (job_.pipeline == 1 || last_) {
    bytes += 2 * input_bytes() + tokens() * kLogitBytes * vocabulary_ / of(job_.tensor);
  }
  return bytes;
}

double GpuMemory::activations_bytes() const {
  const double held = layers_ * microbatches();
  const double bytes = job_.recompute ? held * input_bytes() + layer_bytes() : held * layer_bytes();
  return bytes + outputs_bytes();
}

double GpuMemory::needed_bytes() const {
  return state_bytes(3, of(job_.parameter_bytes)) + state_bytes(2, of(job_.gradient_bytes)) +
         state_bytes(1, question_.optimizer_bytes) + gathered_bytes() + activations_bytes();
}

GpuMemory most_memory(const ModelShape& model, const JobShape& job,
                      const MemoryQuestion& question) {
  GpuMemory first(model, job, question, false);
  if (job.pipeline == 1) return first;
  GpuMemory last(model, job, question, true);
  return last.needed_bytes() > first.needed_bytes() ? last : first;
}

}  // namespace heddle::planner
