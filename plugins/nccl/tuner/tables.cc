// See tables.h.
#include "plugins/nccl/tuner/tables.h"

#include <algorithm>
#include <exception>
#include <string>

#include "base/config.h"
#include "plugins/nccl/host_log.h"
#include "plugins/nccl/tuner/tuner.h"

namespace heddle::nccl {
namespace {

constexpr const char* kName = "heddle";

// Runs `body`, which may throw; NCCL gets success in any case.
template <typename Body>
Status guarded(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    try {
      host_log().warn(std::string("tuner: ") + error.what() + ", NCCL chooses");
    } catch (const std::exception&) {  // no memory for the text
    }
  }
  return kSuccess;
}

Status make(size_t ranks, size_t nodes, Logger logger, NetLatencies net_latencies, void** context) {
  host_log().set(logger);
  if (context == nullptr) return kSuccess;
  *context = nullptr;
  return guarded([&] {
    const auto config = Config::load(config_keys(), ConfigSources::of_process());
    if (!config) {
      host_log().warn("tuner: off, NCCL chooses: " + config.error().message());
      return;
    }
    *context = make_tuner(*config, {ranks, nodes}, net_latencies);
  });
}

struct Request {
  int function = 0;
  size_t bytes = 0;
  int operations = 1;
  int algorithms = 0;
  int protocols = 0;
};

Status choose_costs(void* context, const Request& request, float** costs, int* channels) {
  if (context == nullptr) return kSuccess;
  return guarded([&] {
    const TunedCall call = {.function = request.function,
                            .bytes = request.bytes,
                            .operations = static_cast<uint64_t>(std::max(request.operations, 1))};
    // A dense array, in spite of its type.
    static_cast<Tuner*>(context)->choose(call, reinterpret_cast<float*>(costs), request.algorithms,
                                         request.protocols, channels);
  });
}

Status end(void* context) {
  delete static_cast<Tuner*>(context);
  return kSuccess;
}

Status init_v2(size_t /*ranks*/, size_t /*nodes*/, Logger logger, void** context) {
  host_log().set(logger);
  if (context != nullptr) *context = nullptr;
  return guarded([] {
    host_log().info(kLogTuning, "tuner: this NCCL passes no costs (version 2), NCCL chooses");
  });
}

Status choose_v2(void* /*context*/, int /*function*/, size_t /*bytes*/, int /*collnet*/,
                 int /*nvls*/, int /*operations*/, int* /*algorithm*/, int* /*protocol*/,
                 int* /*channels*/) {
  return kSuccess;
}

Status init_v3(size_t ranks, size_t nodes, Logger logger, void** context) {
  return make(ranks, nodes, logger, nullptr, context);
}

Status choose_v3(void* context, int function, size_t bytes, int operations, float** costs,
                 int algorithms, int protocols, int* channels) {
  return choose_costs(context, {function, bytes, operations, algorithms, protocols}, costs,
                      channels);
}

Status choose_v4(void* context, int function, size_t bytes, int operations, float** costs,
                 int algorithms, int protocols, int /*registered*/, int* channels) {
  return choose_costs(context, {function, bytes, operations, algorithms, protocols}, costs,
                      channels);
}

template <int kCapabilities>
Status init_v5(void** context, uint64_t /*communicator*/, size_t ranks, size_t nodes, Logger logger,
               TunerNvlDomains* /*domains*/, TunerConstants<kCapabilities>* constants) {
  return make(ranks, nodes, logger,
              constants == nullptr ? nullptr : &constants->hw_latencies[kTunerHwNet], context);
}

Status choose_chunk_v6(void* context, int function, size_t bytes, int algorithm, int protocol,
                       int /*channels*/, size_t* chunk) {
  if (context == nullptr) return kSuccess;
  return guarded([&] {
    static_cast<Tuner*>(context)->choose_chunk(function, bytes, algorithm, protocol, chunk);
  });
}

}  // namespace

const TunerV2 kTunerTableV2 = {kName, init_v2, choose_v2, end};
const TunerV3 kTunerTableV3 = {kName, init_v3, choose_v3, end};
const TunerV4 kTunerTableV4 = {kName, init_v3, choose_v4, end};
const TunerV5 kTunerTableV5 = {kName, init_v5<4>, choose_v4, end};
const TunerV6 kTunerTableV6 = {kName, init_v5<4>, choose_v4, end, choose_chunk_v6};
const TunerV7 kTunerTableV7 = {kName, init_v5<5>, choose_v4, end, choose_chunk_v6};

}  // namespace heddle::nccl
