// Errors of the process group as torch's users get them.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace heddle::pytorch {

inline constexpr const char* kLeft = "heddle: the process group has left, since this process ends";
inline constexpr const char* kNoMembers =
    "heddle: the process group has no members yet: call reconfigure() with their handles";
inline constexpr const char* kChanged =
    "heddle: the process group got other members while this call was made: make it again, with "
    "tensors for their number";
inline constexpr const char* kForked =
    "heddle: the process group belongs to the parent of this process (make a new one after fork())";

// What the user gets to see of an error. PyTorch's programs recognize a time-out by these words.
inline std::string text_of(const Error& error) {
  const std::string message = error.message();
  return error.code == ErrorCode::kTimeout ? "Timed out (" + message + ")" : message;
}

// Throws it.
template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error("heddle: " + text_of(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace heddle::pytorch
