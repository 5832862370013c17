// ModelShape: the shape of a transformer, and what follows from it: parameters, parameters that a
// token uses, floating-point operations. model_file.h reads shapes from files and presets.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::planner {

// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1); all zero where
// attention is multi-head or grouped-query.
struct LatentAttention {
  uint64_t query_rank = 0;  // 0: queries are not compressed
  uint64_t key_value_rank = 0;
  uint64_t rope_dim = 0;  // of a head, with position
  uint64_t nope_dim = 0;  // of a head, without
  uint64_t value_dim = 0;
};

struct ModelShape {
  std::string name;
  std::string source;
  uint64_t layers = 0;
  uint64_t hidden = 0;
  uint64_t heads = 0;
  uint64_t key_value_heads = 0;
  uint64_t head_dim = 0;
  uint64_t ffn = 0;  // inner size of a dense layer's feed-forward network
  uint64_t vocabulary = 0;
  uint64_t positions = 0;  // learned position embeddings
  bool gated = true;       // three matrices in a feed-forward network, not two
  bool tied = false;       // one matrix embeds tokens and makes logits
  bool biases = false;     // in all linear layers and norms (GPT-2, GPT-3)
  bool qkv_biases = false;
  bool head_norms = false;  // of queries and keys
  // Mixture of experts; experts == 0: none.
  uint64_t experts = 0;
  uint64_t experts_of_token = 0;
  uint64_t expert_ffn = 0;
  uint64_t shared_ffn = 0;    // inner size of all shared experts together
  uint64_t dense_layers = 0;  // layers without experts
  LatentAttention latent;
  // Only this many parameters are known, and no shape; 0: the shape is known.
  uint64_t parameters_alone = 0;

  bool has_shape() const { return parameters_alone == 0; }
  uint64_t expert_layers() const { return experts > 0 ? layers - dense_layers : 0; }
};

uint64_t attention_parameters(const ModelShape& model);  // of a layer
uint64_t expert_parameters(const ModelShape& model);     // of one routed expert
uint64_t routed_parameters(const ModelShape& model);     // of all routed experts of all layers
uint64_t parameters(const ModelShape& model);            // of the model
uint64_t parameters_of_token(const ModelShape& model);   // that one token passes
// Multiplications and additions of a training step for one token of a sequence of this length:
// 6 x the parameters in matrix products, and 12 x layers x heads x head size x sequence for
// attention (Narayanan et al., SC 2021, section 5.1; PaLM, arXiv 2204.02311, appendix B).
double training_flops_of_token(const ModelShape& model, uint64_t sequence);

}  // namespace heddle::planner
