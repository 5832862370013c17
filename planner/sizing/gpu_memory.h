// GpuMemory: the memory that a GPU needs in training: parameters, gradients and optimizer states,
// as ZeRO and tensor, pipeline and expert parallel ranks share them, and activations, kept or
// recomputed.
#pragma once

#include <cstdint>

#include "planner/job_shape.h"
#include "planner/model_shape.h"

namespace heddle::planner {

struct MemoryQuestion {
  double optimizer_bytes = 12;    // of one parameter: Adam's two moments and a float32 copy
  bool attention_scores = false;  // kept for the backward pass, as without a fused kernel
};

// What one token leaves behind in one layer, in values of each kind: the mean over the layers.
struct LayerValues {
  double whole = 0;   // that each tensor rank holds, unless the sequence is shared
  double masks = 0;   // bytes of dropout masks, held likewise
  double shared = 0;  // that tensor ranks share
  double scores = 0;  // bytes of attention's scores, shared by tensor ranks
};

// Of one GPU of a pipeline stage.
class GpuMemory {
 public:
  // Of the first stage, or of the last one. `job` is resolved, and the model has a shape.
  GpuMemory(const ModelShape& model, const JobShape& job, const MemoryQuestion& question,
            bool last);

  bool is_last() const { return last_; }
  double layers() const { return layers_; }           // of the stage: as many as any stage has
  double layer_parameters() const { return layer_; }  // without routed experts
  double layer_routed_parameters() const { return routed_; }
  double embeddings() const { return embeddings_; }  // parameters of input and output
  double dense() const;   // parameters on the GPU without routed experts, before ZeRO
  double routed() const;  // routed experts' parameters on the GPU, before ZeRO
  // Ranks that ZeRO shares a kind of state among, from its stage `from` on; else 1.
  double dense_ranks(uint64_t from) const;
  double routed_ranks(uint64_t from) const;
  double state_bytes(uint64_t from, double bytes) const;  // of a state of `bytes` a parameter
  double optimizer_bytes() const { return question_.optimizer_bytes; }
  double gathered_parameters() const;  // of the largest unit that ZeRO 3 gathers
  double gathered_bytes() const;

  double tokens() const;  // of a microbatch, on a context rank
  const LayerValues& values() const { return values_; }
  double sequence_ranks() const;  // that share what `whole` and `masks` have
  double layer_bytes() const;     // activations of a microbatch in a layer
  double input_bytes() const;     // of them, the layer's input
  double microbatches() const;    // whose activations are held at once; fractions with chunks
  double outputs_bytes() const;   // beside layers: embedding's mask, final norm, logits
  double activations_bytes() const;
  double needed_bytes() const;

 private:
  const JobShape job_;
  const MemoryQuestion question_;
  const bool last_;
  const bool dropout_;
  const double hidden_;
  const double vocabulary_;
  LayerValues values_;
  double layers_ = 0;
  double layer_ = 0;
  double routed_ = 0;
  double embeddings_ = 0;
};

// Of the stage that needs most: the first holds most microbatches, the last makes the logits.
GpuMemory most_memory(const ModelShape& model, const JobShape& job, const MemoryQuestion& question);

}  // namespace heddle::planner
