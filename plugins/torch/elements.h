// Elements: how torch's types and operations are said in heddle's.
#pragma once

#include <cstdint>

#include "collectives/data_type.h"
#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

// An element of a tensor is `each` elements of `type`: two for a complex number; its size in bytes
// for a type that heddle does not support.
struct Elements {
  collectives::DataType type = collectives::DataType::kUint8;
  uint64_t each = 1;
};

struct Reduction {
  Elements elements;
  collectives::ReduceOp op = collectives::ReduceOp::kSum;
};

// For calls that only move elements.
Elements elements_of(at::ScalarType type);

// For calls that combine them. Throws what the user gets to see where heddle cannot.
Reduction reduction_of(at::ScalarType type, const c10d::ReduceOp& op);

// Throws unless it is a dense tensor in the memory of this host.
void check_tensor(const at::Tensor& tensor, const char* call);

}  // namespace heddle::pytorch
