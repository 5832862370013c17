// What a call of NCCL costs more with libheddle-nccl-trace.so, over a stand-in that does nothing.
// Compare, from the build folder:
//   bin/nccl_trace_bench
//   LD_PRELOAD=lib/libheddle-nccl-trace.so bin/nccl_trace_bench
//   HEDDLE_RECORD=FOLDER LD_PRELOAD=lib/libheddle-nccl-trace.so bin/nccl_trace_bench
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include "plugins/nccl/trace/nccl_calls.h"

namespace heddle::nccl::trace {
namespace {

Comm make_comm() {
  UniqueId id{};
  Comm comm = nullptr;
  ncclGetUniqueId(&id);
  ncclCommInitRank(&comm, 8, id, 1);
  return comm;
}

void all_reduce(benchmark::State& state) {
  Comm const comm = make_comm();
  for (auto round : state) {
    benchmark::DoNotOptimize(ncclAllReduce(&state, &state, 1000, 7, 0, comm, nullptr));
  }
}
BENCHMARK(all_reduce)->Threads(1)->Threads(2);

// As a pipeline's step: a send and a receive.
void group_of_two(benchmark::State& state) {
  Comm const comm = make_comm();
  for (auto round : state) {
    ncclGroupStart();
    ncclSend(&state, 1000, 7, 2, comm, nullptr);
    ncclRecv(&state, 1000, 7, 0, comm, nullptr);
    benchmark::DoNotOptimize(ncclGroupEnd());
  }
}
BENCHMARK(group_of_two);

// A lookup that has nothing to do with NCCL: the wrapper of dlsym() passes it on.
void look_up(benchmark::State& state) {
  for (auto round : state) benchmark::DoNotOptimize(dlsym(RTLD_DEFAULT, "getpid"));
}
BENCHMARK(look_up);

}  // namespace
}  // namespace heddle::nccl::trace
