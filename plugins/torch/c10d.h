// The seam to PyTorch's distributed package: all that differs between its versions. 1.13 has one
// class, c10d::ProcessGroup, that backends derive from; since 2.0 they derive from c10d::Backend,
// which has got more virtual functions in most versions since. Those are declared without
// `override`: where Backend has one of them, ours takes its place, elsewhere it is a method as any
// other. docs/reference/pytorch.md has the versions that it was compiled against and run with.
#pragma once

// clang-format off: torch defines a CHECK too, and only in this order silently.
#include "base/check.h"
// clang-format on

#include <torch/version.h>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <utility>

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

// Whether a group has failed, and of what: c10d::ErrorType where there is one (since 2.7), else its
// numbers.
template <typename Base>
auto error_type_of(int) -> decltype(std::declval<Base&>().getError());
template <typename Base>
uint8_t error_type_of(long);
using ErrorType = decltype(error_type_of<BackendBase>(0));
inline constexpr auto kNoError = static_cast<ErrorType>(0);
inline constexpr auto kTimeoutError = static_cast<ErrorType>(1);
inline constexpr auto kCommunicationError = static_cast<ErrorType>(2);
inline constexpr auto kRemoteError = static_cast<ErrorType>(3);

// What a user may ask of a backend when it is made.
using BackendOptions = c10::intrusive_ptr<BackendBase::Options>;

using WorkPtr = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

}  // namespace heddle::pytorch
