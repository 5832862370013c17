// The seam to PyTorch's distributed package: all that differs between its versions. 1.13 has one
// class, c10d::ProcessGroup, that backends derive from; since 2.0 they derive from c10d::Backend.
// Built and tested with 1.13 only.
#pragma once

// clang-format off: torch defines a CHECK too, and only in this order silently.
#include "base/check.h"
// clang-format on

#include <torch/version.h>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace heddle::pytorch {

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;
#else
using BackendBase = c10d::ProcessGroup;
#endif

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

}  // namespace heddle::pytorch
