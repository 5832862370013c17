// The wrapper of dlsym(): programs that open NCCL themselves (JAX, vLLM) look its functions up in
// it, where no preloaded library is searched. Compiled so that its calls in tail position are
// jumps: glibc takes the caller from the return address.
#include <dlfcn.h>

#include <cstring>

#include "plugins/nccl/trace/next_function.h"
#include "plugins/nccl/trace/trace.h"
#include "plugins/nccl/trace/wrapped_functions.h"

namespace heddle::nccl::trace {
namespace {

bool may_be_wrapped(const char* name) {
  return std::strncmp(name, "nccl", 4) == 0 || std::strncmp(name, "cudaMemcpy", 10) == 0 ||
         std::strncmp(name, "cuMemcpyPeer", 12) == 0;
}

// The result of a lookup: the wrapper, if it would pass calls on to the function that is sought. A
// second NCCL in the process is left alone: its communicators are not those of the first.
__attribute__((noinline)) void* look_up(void* handle, const char* name) noexcept {
  const WrappedFunction* const wrapped = find_wrapped_function(name);
  if (wrapped == nullptr || process_trace() == nullptr) return real_dlsym()(handle, name);
  void* const asked = real_dlsym()(handle, name);
  if (asked == nullptr || asked == wrapped->wrapper) return asked;
  return wrapped->next() == asked ? wrapped->wrapper : asked;
}

}  // namespace
}  // namespace heddle::nccl::trace

extern "C" __attribute__((noinline)) void* dlsym(void* handle, const char* name) noexcept {
  using namespace heddle::nccl::trace;  // NOLINT: extern "C" stands outside
  // In these two scopes the wrappers are found anyway.
  const bool scope = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  if (!scope && may_be_wrapped(name)) return look_up(handle, name);
  return real_dlsym()(handle, name);
}
