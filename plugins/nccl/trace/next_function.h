// The functions behind the wrappers: the definition that the program would have reached without
// this library. A program may link NCCL, or a library that it opens privately may (RTLD_LOCAL, as
// Python does with PyTorch's); then it is in no scope that RTLD_NEXT searches.
#pragma once

#include <atomic>
#include <cstddef>

namespace heddle::nccl::trace {

// glibc's dlsym; calls from this library to dlsym itself would end in its wrapper.
using Dlsym = void* (*)(void* handle, const char* name) noexcept;
Dlsym real_dlsym() noexcept;

// The definition of `name` that follows `own` in the order of searching: behind this library among
// those loaded with the program, else in NCCL's or CUDA's library, else in any loaded one. Null:
// none is loaded. Libraries stay loaded that were found so.
void* find_next_function(const char* name, const void* own);

// A name as a template argument.
template <size_t kBytes>
struct FunctionName {
  char text[kBytes] = {};
  consteval FunctionName(const char (&name)[kBytes]) {  // NOLINT: implicit
    for (size_t i = 0; i < kBytes; ++i) text[i] = name[i];
  }
};

namespace detail {
template <FunctionName kName>
inline constinit std::atomic<void*> found{nullptr};
}  // namespace detail

// As find_next_function(), looked up until found once. No lock afterwards.
template <FunctionName kName, typename Function>
Function* next_function(Function* own) {
  void* known = detail::found<kName>.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = find_next_function(kName.text, reinterpret_cast<const void*>(own));
    detail::found<kName>.store(known, std::memory_order_release);
  }
  return reinterpret_cast<Function*>(known);
}

// A function that is not wrapped; looked up once: what was missing then counts as missing.
template <FunctionName kName, typename Function>
Function* other_function() {
  static std::atomic<bool> looked{false};
  if (!looked.load(std::memory_order_acquire)) {
    detail::found<kName>.store(find_next_function(kName.text, nullptr), std::memory_order_release);
    looked.store(true, std::memory_order_release);
  }
  return reinterpret_cast<Function*>(detail::found<kName>.load(std::memory_order_acquire));
}

}  // namespace heddle::nccl::trace
