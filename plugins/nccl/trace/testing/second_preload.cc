// Another tool's preloaded library, for tests: it wraps one function, and finds the next one as
// such libraries do.
#include <dlfcn.h>

#include "plugins/nccl/trace/nccl_calls.h"
#include "plugins/nccl/trace/testing/standin_log.h"

namespace heddle::nccl::trace {

extern "C" Status ncclAllReduce(const void* in, void* out, size_t count, int type, int op,
                                Comm comm, Stream stream) {
  testing::log_call("second preload", count);
  void* const next = dlsym(RTLD_NEXT, "ncclAllReduce");
  return reinterpret_cast<decltype(&ncclAllReduce)>(next)(in, out, count, type, op, comm, stream);
}

}  // namespace heddle::nccl::trace
