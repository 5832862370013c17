// See movements.h.
#include "planner/sizing/movements.h"

#include <algorithm>

namespace heddle::planner {
namespace {

constexpr const char* kZero = "ZeRO, Rajbhandari et al. (SC 2020), section 7";
constexpr const char* kMegatron = "Megatron-LM, Narayanan et al. (SC 2021), section 3";
constexpr const char* kSequence = "Korthikanti et al. (arXiv 2205.05198), section 4.2";

double of(uint64_t count) { return static_cast<double>(count); }

// The parameters that a group of data parallel ranks holds copies of, on one GPU.
struct Share {
  std::string prefix;
  double total;    // of the model
  double holders;  // GPUs of a replica that share it
  GroupPlace place;
};

Movement movement_of(const Share& share, const JobShape& job, double calls, bool gradients) {
  const uint64_t width = gradients ? job.gradient_bytes : job.parameter_bytes;
  return {.name = share.prefix + (gradients ? "data" : "data_parameters"),
          .meaning = "",
          .kind = MovementKind::kGather,
          .calls = calls,
          .buffer_bytes = share.total / share.holders * of(width),
          .buffer_formula = "P / m * b",
          .buffer_terms = {{"P", "parameters", share.total, ""},
                           {"m", "GPUs of a replica that share them", share.holders, ""},
                           {"b", gradients ? "bytes of a gradient" : "bytes of a parameter",
                            of(width), "B"}},
          .place = share.place,
          .source = kZero};
}

void add_share(const Share& share, const JobShape& job, std::vector<Movement>& all) {
  if (share.place.ranks < 2 || share.total <= 0) return;
  const double microbatches = of(job.microbatches);
  const double reductions = job.zero_stage >= 2 ? microbatches : 1;
  Movement gradients = movement_of(share, job, reductions, true);
  if (job.zero_stage == 0) {
    gradients.kind = MovementKind::kAllReduce;
    gradients.meaning = "all-reduce of gradients";
    all.push_back(std::move(gradients));
    return;
  }
  gradients.meaning = "reduce-scatter of gradients";
  all.push_back(std::move(gradients));
  // Stage 3 gathers parameters before the forward and the backward pass of each microbatch.
  const double gathers = job.zero_stage == 3 ? 2 * microbatches : 1;
  Movement parameters = movement_of(share, job, gathers, false);
  parameters.meaning = "all-gather of parameters";
  all.push_back(std::move(parameters));
}

// Activations of a microbatch, of one GPU's part of the sequence.
struct Activations {
  double bytes;
  std::vector<Term> terms;
};

Activations activations_of(const ModelShape& model, const JobShape& job) {
  return {of(job.microbatch * job.sequence * model.hidden * job.activation_bytes) / of(job.context),
          {{"u", "sequences of a microbatch", of(job.microbatch), ""},
           {"s", "tokens of a sequence", of(job.sequence), ""},
           {"c", "context parallel ranks", of(job.context), ""},
           {"h", "hidden size", of(model.hidden), ""},
           {"a", "bytes of an activation", of(job.activation_bytes), "B"}}};
}

void add_tensor(const JobShape& job, double layer_passes, const Activations& activations,
                std::vector<Movement>& all) {
  // Recomputing a forward pass repeats its calls.
  const double passes = job.recompute ? 3 : 2;
  Movement tensor{.name = "tensor",
                  .meaning = "all-reduce of activations",
                  .kind = MovementKind::kAllReduce,
                  .calls = 2 * passes * layer_passes,
                  .buffer_bytes = activations.bytes,
                  .buffer_formula = "u * s / c * h * a",
                  .buffer_terms = activations.terms,
                  .place = place_group(job.tensor, 1, job.gpus_per_node),
                  .source = kMegatron};
  if (job.sequence_parallel) {
    tensor.meaning = "all-gather and reduce-scatter of activations";
    tensor.kind = MovementKind::kGather;
    tensor.calls = (4 * passes + 2) * layer_passes;  // two gathers more, for weights' gradients
    tensor.source = kSequence;
  }
  all.push_back(std::move(tensor));
}

void add_context(const ModelShape& model, const JobShape& job, double layer_passes,
                 std::vector<Movement>& all) {
  const bool latent = model.latent.key_value_rank > 0;
  const double width = latent ? of(model.latent.key_value_rank + model.latent.rope_dim)
                              : 2 * of(model.key_value_heads * model.head_dim) / of(job.tensor);
  all.push_back({.name = "context",
                 .meaning = "keys and values, forward; again with their gradients, backward",
                 .kind = MovementKind::kGather,
                 .calls = 3 * layer_passes,
                 .buffer_bytes = of(job.microbatch * job.sequence * job.activation_bytes) * width,
                 .buffer_formula = "u * s * w * a",
                 .buffer_terms = {{"u", "sequences of a microbatch", of(job.microbatch), ""},
                                  {"s", "tokens of a sequence", of(job.sequence), ""},
                                  {"w", "keys and values of a token on a tensor rank", width, ""},
                                  {"a", "bytes of an activation", of(job.activation_bytes), "B"}},
                 .place = place_group(job.context, job.tensor, job.gpus_per_node),
                 .source = "The Llama 3 Herd of Models (arXiv 2407.21783), section 3.3.2"});
}

void add_experts(const ModelShape& model, const JobShape& job, const Activations& activations,
                 std::vector<Movement>& all) {
  const double passes = of(model.expert_layers()) / of(job.pipeline) * of(job.microbatches);
  std::vector<Term> terms = activations.terms;
  terms.push_back({"e", "experts of a token", of(model.experts_of_token), ""});
  terms.push_back({"t", "tensor parallel ranks", of(job.tensor), ""});
  all.push_back({.name = "expert",
                 .meaning = "all-to-all: tokens to experts and back, forward and backward",
                 .kind = MovementKind::kAllToAll,
                 .calls = (job.recompute ? 6 : 4) * passes,
                 .buffer_bytes = activations.bytes * of(model.experts_of_token) / of(job.tensor),
                 .buffer_formula = "u * s / c * h * a * e / t",
                 .buffer_terms = std::move(terms),
                 .place = place_group(job.expert, job.tensor, job.gpus_per_node),
                 .source = "GShard, Lepikhin et al. (arXiv 2006.16668), section 3.2"});
}

void add_pipeline(const JobShape& job, const Activations& activations, std::vector<Movement>& all) {
  const double cut = job.sequence_parallel ? of(job.tensor) : 1;
  // A stage between others sends forward and backward; of two stages each lacks one of its sends.
  const double sends = 2 * of(job.chunks) - (job.pipeline == 2 ? 1 : 0);
  std::vector<Term> terms = activations.terms;
  terms.push_back({"t", "tensor ranks that send a part each", cut, ""});
  all.push_back(
      {.name = "pipeline",
       .meaning = "activations to the next stage, gradients to the one before",
       .kind = MovementKind::kPointToPoint,
       .calls = sends * of(job.microbatches),
       .buffer_bytes = activations.bytes / cut,
       .buffer_formula = "u * s / c * h * a / t",
       .buffer_terms = std::move(terms),
       .place = place_group(job.pipeline, job.gpus / job.sites / job.pipeline, job.gpus_per_node),
       .source = kMegatron});
}

}  // namespace

void add_data_movements(const ModelShape& model, const JobShape& job, std::vector<Movement>& all) {
  const auto routed = static_cast<double>(routed_parameters(model));
  const double dense = static_cast<double>(parameters(model)) - routed;
  const double holders = of(job.tensor * job.pipeline);
  const uint64_t ranks = job.data * job.context;
  add_share({"", dense, holders, place_in_sites(ranks, job.tensor, job.gpus_per_node, job.sites)},
            job, all);
  // An expert has one copy in each expert parallel group.
  add_share(
      {"expert_", routed, holders * of(job.expert),
       place_in_sites(ranks / job.expert, job.tensor * job.expert, job.gpus_per_node, job.sites)},
      job, all);
}

void add_layer_movements(const ModelShape& model, const JobShape& job, std::vector<Movement>& all) {
  if (!model.has_shape()) return;
  const double layer_passes = of(model.layers) / of(job.pipeline) * of(job.microbatches);
  const Activations activations = activations_of(model, job);
  if (job.tensor > 1) add_tensor(job, layer_passes, activations, all);
  if (job.context > 1) add_context(model, job, layer_passes, all);
  if (job.expert > 1) add_experts(model, job, activations, all);
  if (job.pipeline > 1) add_pipeline(job, activations, all);
}

std::vector<Movement> awaited_movements(const ModelShape& model, const JobShape& job) {
  std::vector<Movement> layers;
  add_layer_movements(model, job, layers);
  std::erase_if(layers,
                [](const Movement& each) { return each.kind == MovementKind::kPointToPoint; });
  return layers;
}

std::vector<Movement> movements(const ModelShape& model, const JobShape& job) {
  std::vector<Movement> all;
  add_data_movements(model, job, all);
  add_layer_movements(model, job, all);
  return all;
}

}  // namespace heddle::planner
