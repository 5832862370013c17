// The functions that this library wraps, by name: for programs that look functions up (dlsym) in a
// library that they opened.
#pragma once

#include <span>

namespace heddle::nccl::trace {

struct WrappedFunction {
  const char* name = "";
  void* wrapper = nullptr;
  // The definition behind it, see next_function.h.
  void* (*next)() = nullptr;
};

// In the order of their names.
std::span<const WrappedFunction> wrapped_functions();
// Null: it is not wrapped.
const WrappedFunction* find_wrapped_function(const char* name);

}  // namespace heddle::nccl::trace
