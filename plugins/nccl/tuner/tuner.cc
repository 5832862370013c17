// See tuner.h.
#include "plugins/nccl/tuner/tuner.h"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "nccl/tuner_network.h"
#include "plugins/nccl/host_log.h"

namespace heddle::nccl {
namespace {

constexpr std::array<const char*, kTunerFunctions> kFunctions = {"Broadcast", "Reduce", "AllGather",
                                                                 "ReduceScatter", "AllReduce"};
constexpr std::array<const char*, kTunerAlgorithms> kAlgorithms = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<const char*, kTunerProtocols> kProtocols = {"LL", "LL128", "Simple"};

bool known(int function, int algorithm, int protocol) {
  return function >= 0 && function < kTunerFunctions && algorithm >= 0 &&
         algorithm < kTunerAlgorithms && protocol >= 0 && protocol < kTunerProtocols;
}

std::string pair_text(int algorithm, int protocol) {
  return fmt::format("{}/{}", kAlgorithms[static_cast<size_t>(algorithm)],
                     kProtocols[static_cast<size_t>(protocol)]);
}

std::string network_text_of(const MeasuredNetwork& network) {
  std::string text =
      fmt::format("{:.3f} Gb/s between nodes, {:.1f} us one way",
                  static_cast<double>(network.goodput.count) * 1e-9, to_micros(network.one_way));
  if (network.connection_goodput.count == 0) return text + ", channels as NCCL has them";
  return text + fmt::format(", {:.3f} Gb/s a channel, up to {} channels",
                            static_cast<double>(network.connection_goodput.count) * 1e-9,
                            most_channels(network));
}

}  // namespace

bool Tuner::first(Logged& logged, int function, uint64_t bytes, int algorithm, int protocol) {
  const auto power = static_cast<size_t>(bytes == 0 ? 0 : std::bit_width(bytes) - 1);
  const uint32_t bit = uint32_t{1} << (algorithm * kTunerProtocols + protocol);
  std::atomic<uint32_t>& seen = logged[static_cast<size_t>(function)][power];
  if ((seen.load(std::memory_order_relaxed) & bit) != 0) return false;
  return (seen.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void Tuner::choose(const TunedCall& call, float* costs, int algorithms, int protocols,
                   int* channels) {
  const bool sane = costs != nullptr && algorithms > 0 && algorithms <= kTunerAlgorithms &&
                    protocols > 0 && protocols <= kTunerProtocols && call.function >= 0 &&
                    call.function < kTunerFunctions;
  if (!sane) return;
  const auto size = static_cast<size_t>(algorithms) * static_cast<size_t>(protocols);
  const auto choice = nccl::choose(network_, delays_, group_, call, {{costs, size}, protocols});
  if (!choice) return;
  if (channels != nullptr && choice->channels > 0) *channels = choice->channels;
  if (!first(choices_, call.function, call.bytes, choice->algorithm, choice->protocol)) return;
  const bool same = choice->algorithm == choice->instead_of_algorithm &&
                    choice->protocol == choice->instead_of_protocol;
  host_log().info(
      kLogTuning,
      fmt::format("tuner: {} of {} bytes, {} ranks on {} nodes: {}, {:.1f} us{}{}",
                  kFunctions[static_cast<size_t>(call.function)], call.bytes, group_.ranks,
                  group_.nodes, pair_text(choice->algorithm, choice->protocol), choice->us,
                  same ? ", as NCCL"
                       : ", instead of NCCL's " +
                             pair_text(choice->instead_of_algorithm, choice->instead_of_protocol),
                  choice->channels > 0 ? fmt::format(", channels: {}", choice->channels) : ""));
}

void Tuner::choose_chunk(int function, size_t bytes, int algorithm, int protocol, size_t* chunk) {
  if (chunk == nullptr || !known(function, algorithm, protocol)) return;
  const uint64_t size = chunk_for(network_, group_, {.function = function, .bytes = bytes},
                                  {algorithm, protocol}, *chunk);
  if (size == *chunk) return;
  if (first(chunks_, function, bytes, algorithm, protocol)) {
    host_log().info(kLogTuning,
                    fmt::format("tuner: {} by {}, {} bytes on a channel: chunks of {} bytes "
                                "instead of NCCL's {}",
                                kFunctions[static_cast<size_t>(function)],
                                pair_text(algorithm, protocol), bytes, size, *chunk));
  }
  *chunk = size;
}

Tuner* make_tuner(const Config& config, const TunedGroup& group, NetLatencies net_latencies) {
  const auto network = tuner_network(config);
  if (!network) {
    host_log().warn("tuner: off, NCCL chooses: " + network.error().message());
    return nullptr;
  }
  if (!*network) {
    host_log().info(kLogTuning, "tuner: off, NCCL chooses (HEDDLE_NCCL_TUNER=on turns it on)");
    return nullptr;
  }
  if (group.nodes < 2 || group.ranks < group.nodes) {
    host_log().info(kLogTuning, fmt::format("tuner: {} ranks on {} nodes do not use the network "
                                            "between nodes, NCCL chooses",
                                            group.ranks, group.nodes));
    return nullptr;
  }
  host_log().info(kLogTuning | kLogInit,
                  fmt::format("tuner: on for {} ranks on {} nodes, {}; all ranks need the same "
                              "figures",
                              group.ranks, group.nodes, network_text_of(**network)));
  const StepDelays delays = net_latencies == nullptr ? kStepDelays : step_delays(*net_latencies);
  return new Tuner(**network, delays, group);
}

}  // namespace heddle::nccl
