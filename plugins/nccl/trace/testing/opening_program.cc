// A program that opens NCCL privately instead of linking it, for tests.
//   linked LIBRARY    a library that links NCCL (linked_user.cc), as Python opens PyTorch's
//   looked-up LIBRARY...  libraries of NCCL whose functions it looks up, as JAX and vLLM do; in
//   each
//                     it calls one all-reduce
//   none              nothing of NCCL at all; prints whether a lookup of it finds something
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {
namespace {

int call_linked(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    std::fputs(dlerror(), stderr);
    return 2;
  }
  return reinterpret_cast<int (*)()>(dlsym(opened, "use_nccl"))();
}

int call_looked_up(const char* library) {
  void* const opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    std::fputs(dlerror(), stderr);
    return 2;
  }
  const auto init =
      reinterpret_cast<decltype(&ncclCommInitRank)>(dlsym(opened, "ncclCommInitRank"));
  if (dlerror() != nullptr) return 6;  // as POSIX says that errors are found
  const auto reduce = reinterpret_cast<decltype(&ncclAllReduce)>(dlsym(opened, "ncclAllReduce"));
  if (dlsym(opened, "ncclAllReduceConfig") != nullptr) return 3;  // the stand-in has none
  Comm comm = nullptr;
  UniqueId id{};
  std::memset(id.bytes, 'x', sizeof id.bytes);
  if (init(&comm, 2, id, 0) != kSuccess) return 4;
  return reduce(&id, &id, 1000, 7, 0, comm, nullptr) == kSuccess ? 0 : 5;
}

int main_of(int count, char** words) {
  if (count > 2 && std::strcmp(words[1], "linked") == 0) return call_linked(words[2]);
  if (count > 2 && std::strcmp(words[1], "looked-up") == 0) {
    for (int i = 2; i < count; ++i) {
      if (const int failed = call_looked_up(words[i])) return failed;
    }
    return 0;
  }
  const bool found = dlsym(RTLD_DEFAULT, "getpid") != nullptr;
  std::printf("%s, getpid %s\n",
              dlsym(dlopen(nullptr, RTLD_NOW), "nccl") == nullptr ? "no nccl" : "nccl",
              found ? "found" : "missing");
  return 0;
}

}  // namespace
}  // namespace heddle::nccl::trace

int main(int count, char** words) { return heddle::nccl::trace::main_of(count, words); }
