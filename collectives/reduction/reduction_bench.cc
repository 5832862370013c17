// What reducing costs beside memcpy, the limit: two streams are read and one is written, where
// memcpy reads one. Arguments: bytes of a buffer. Names: set, type, operation.
//   build/release/bin/collectives_bench --benchmark_filter=reduce
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "collectives/reduction/kernels.h"

namespace heddle::collectives {
namespace {

constexpr int64_t kSmall = 32 << 10;  // in the first cache or the second
constexpr int64_t kLarge = 16 << 20;  // in memory, or the last cache

void copy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<unsigned char> from(bytes, 1);
  std::vector<unsigned char> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(copy)->Name("memcpy")->Arg(kSmall)->Arg(kLarge);

void reduce_by(benchmark::State& state, const reduction::Kernels* kernels, DataType type,
               ReduceOp op) {
  const auto bytes = static_cast<size_t>(state.range(0));
  std::vector<unsigned char> a(bytes, 0x3c);
  std::vector<unsigned char> b(bytes, 0x3d);
  std::vector<unsigned char> to(bytes);
  const auto kernel = kernels->reduce_of(type, op);
  for (auto _ : state) {
    kernel(to.data(), a.data(), b.data(), bytes / size_of(type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

bool add_all() {
  for (const reduction::InstructionSet set : reduction::kInstructionSets) {
    const reduction::Kernels* const kernels = reduction::kernels_of(set);
    if (kernels == nullptr) continue;
    for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                                DataType::kBfloat16, DataType::kInt8, DataType::kInt64}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        const std::string name = "reduce/" + std::string(kernels->name) + "/" +
                                 std::string(name_of(type)) + "/" + std::string(name_of(op));
        benchmark::RegisterBenchmark(name.c_str(), reduce_by, kernels, type, op)
            ->Arg(kSmall)
            ->Arg(kLarge);
      }
    }
  }
  return true;
}

const bool kAdded = add_all();

}  // namespace
}  // namespace heddle::collectives
