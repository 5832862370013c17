// All-reduce by the Gloo library, timed: gloo_peer RANK SIZE STORE_FOLDER ADDRESS ALGORITHM
// BYTES:CALLS…
// Rank 0 prints [{"bytes": …, "us": …}, …]: the mean over its calls, in place.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void all_reduce(const std::shared_ptr<gloo::Context>& context, std::vector<float>& data, bool bcube) {
  gloo::AllreduceOptions options(context);
  options.setOutput(data.data(), data.size());
  options.setAlgorithm(bcube ? gloo::AllreduceOptions::Algorithm::BCUBE : gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction([](void* to, const void* one, const void* other, size_t elements) {
    gloo::sum<float>(to, one, other, elements);
  });
  gloo::allreduce(options);
}

}  // namespace

int main(int count, char** words) {
  if (count < 7) {
    std::fprintf(stderr, "usage: gloo_peer RANK SIZE STORE_FOLDER ADDRESS ring|bcube BYTES:CALLS ...\n");
    return 2;
  }
  const int rank = std::atoi(words[1]);
  gloo::transport::tcp::attr attributes;
  attributes.hostname = words[4];
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(words[3]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, std::atoi(words[2]));
  context->connectFullMesh(store, device);
  if (rank == 0) std::printf("[");
  for (int i = 6; i < count; ++i) {
    long bytes = 0, calls = 0;
    if (std::sscanf(words[i], "%ld:%ld", &bytes, &calls) != 2 || bytes < 4 || calls < 1) return 2;
    std::vector<float> data(static_cast<size_t>(bytes) / 4);
    const bool bcube = std::string(words[5]) == "bcube";
    for (long warm = 0; warm < 1 + calls / 10; ++warm) all_reduce(context, data, bcube);
    gloo::BarrierOptions barrier(context);
    gloo::barrier(barrier);
    const auto began = std::chrono::steady_clock::now();
    for (long done = 0; done < calls; ++done) all_reduce(context, data, bcube);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    if (rank == 0) std::printf("%s{\"bytes\": %ld, \"us\": %.3f}", i > 6 ? ", " : "", bytes, took.count() / calls);
  }
  if (rank == 0) std::printf("]\n");
  return 0;
}
