// A library that links NCCL and is opened by a program that does not, for tests: as PyTorch's is by
// Python.
#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {

// One all-reduce on a communicator of two ranks; 0: all went well.
extern "C" int use_nccl() {
  UniqueId id{};
  Comm comm = nullptr;
  if (ncclGetUniqueId(&id) != kSuccess || ncclCommInitRank(&comm, 2, id, 1) != kSuccess) return 1;
  if (ncclAllReduce(&id, &id, 1000, 7, 0, comm, nullptr) != kSuccess) return 2;
  return ncclCommDestroy(comm) == kSuccess ? 0 : 3;
}

}  // namespace heddle::nccl::trace
