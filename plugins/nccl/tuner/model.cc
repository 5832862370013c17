// See model.h. Formulas are those of NCCL's own model (src/graph/tuning.cc): steps between nodes,
// each with the latency of a message, and the bytes that the busiest node sends.
#include "plugins/nccl/tuner/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "plugins/nccl/params.h"

namespace heddle::nccl {
namespace {

// Bytes on the wire for a byte of data: LL sends four bytes of flags with four of data, LL128 eight
// with 120.
constexpr std::array<double, kTunerProtocols> kWireFactors = {2.0, 128.0 / 120.0, 1.0};
// A double binary tree needs a channel for each of its trees.
constexpr int kLeastChannels = 2;

double gbits(BitsPerSec rate) { return static_cast<double>(rate.count) * 1e-9; }

// Microseconds of `bytes` at `rate`.
double transmit_us(double bytes, BitsPerSec rate) { return bytes * 8e-3 / gbits(rate); }

uint64_t log2_up(uint64_t number) { return static_cast<uint64_t>(std::bit_width(number - 1)); }

struct Part {
  double steps = 0;
  double share = 0;  // of the bytes, that the busiest node sends
};

std::optional<Part> ring_part(const TunedGroup& group, int function) {
  const auto ranks = static_cast<double>(group.ranks);
  const auto nodes = static_cast<double>(group.nodes);
  const double others = (ranks - 1) / ranks;
  switch (function) {
    case kTunerAllReduce:
      return Part{2 * (nodes - 1), 2 * others};
    case kTunerAllGather:
    case kTunerReduceScatter:
      return Part{nodes - 1, others};
    case kTunerBroadcast:
    case kTunerReduce:
      return Part{nodes - 1, 1};
    default:
      return std::nullopt;
  }
}

std::optional<Part> part_of(const TunedGroup& group, int function, int algorithm) {
  const auto ranks = static_cast<double>(group.ranks);
  const auto rounds = static_cast<double>(log2_up(group.nodes));
  switch (algorithm) {
    case kTunerRing:
      return ring_part(group, function);
    case kTunerTree:
    case kTunerNvlsTree:
      // Of two nodes each is the root of one of the two trees.
      if (function != kTunerAllReduce) return std::nullopt;
      return Part{2 * rounds, group.nodes == 2 ? 1.0 : 2.0};
    case kTunerPat:
      if (function != kTunerAllGather && function != kTunerReduceScatter) return std::nullopt;
      return Part{rounds, (ranks - 1) / ranks};
    default:
      return std::nullopt;
  }
}

struct Least {
  size_t place = SIZE_MAX;
  float us = 0;
};

// As NCCL chooses: the first of the least costs that are not negative.
Least least_of(std::span<const float> costs) {
  Least least;
  for (size_t i = 0; i < costs.size(); ++i) {
    if (!(costs[i] >= 0.0F) || (least.place != SIZE_MAX && costs[i] >= least.us)) continue;
    least = {i, costs[i]};
  }
  return least;
}

}  // namespace

StepDelays step_delays(const double (&net_latencies)[kTunerAlgorithms][kTunerProtocols]) {
  const auto& tree = net_latencies[kTunerTree];
  StepDelays delays = {};
  for (int i = 0; i < kTunerProtocols; ++i) {
    delays[static_cast<size_t>(i)] = tree[i] - tree[kTunerLl];
    const bool sane =
        tree[i] > 0.0 && tree[i] < params::tuner::kMostLatencyUs && tree[i] >= tree[kTunerLl];
    if (!sane) return kStepDelays;
  }
  return delays;
}

std::optional<double> network_us(const MeasuredNetwork& network, const StepDelays& delays,
                                 const TunedGroup& group, const TunedCall& call, TunedWay way) {
  if (group.nodes < 2 || group.ranks < group.nodes) return std::nullopt;
  if (way.protocol < 0 || way.protocol >= kTunerProtocols) return std::nullopt;
  const std::optional<Part> part = part_of(group, call.function, way.algorithm);
  if (!part) return std::nullopt;
  const uint64_t operations = std::max<uint64_t>(call.operations, 1);
  const uint64_t passes = way.algorithm == kTunerRing
                              ? operations
                              : (operations + params::tuner::kOperationsTogether - 1) /
                                    params::tuner::kOperationsTogether;
  const auto column = static_cast<size_t>(way.protocol);
  const double step = to_micros(network.one_way) + delays[column];
  const double bytes = part->share * static_cast<double>(call.bytes) * kWireFactors[column];
  return part->steps * step * static_cast<double>(passes) + transmit_us(bytes, network.goodput);
}

std::optional<TunedChoice> choose(const MeasuredNetwork& network, const StepDelays& delays,
                                  const TunedGroup& group, const TunedCall& call, CostTable table) {
  const std::span<float> costs = table.values;
  const Least before = least_of(costs);
  if (before.place == SIZE_MAX || table.protocols <= 0) return std::nullopt;
  const auto width = static_cast<size_t>(table.protocols);
  if (costs.size() > params::tuner::kMostCosts) return std::nullopt;
  std::array<float, params::tuner::kMostCosts> raised = {};
  for (size_t i = 0; i < costs.size(); ++i) {
    raised[i] = costs[i];
    if (!(costs[i] >= 0.0F)) continue;
    const TunedWay way{static_cast<int>(i / width), static_cast<int>(i % width)};
    const auto us = network_us(network, delays, group, call, way);
    if (!us) return std::nullopt;
    raised[i] = std::max(costs[i], static_cast<float>(*us));
  }
  const Least after = least_of({raised.data(), costs.size()});
  const bool relegated =
      static_cast<double>(costs[after.place]) > params::tuner::kRelegated * before.us;
  if (before.us > 0.0F && relegated) return std::nullopt;
  std::copy_n(raised.begin(), costs.size(), costs.begin());
  return TunedChoice{.algorithm = static_cast<int>(after.place / width),
                     .protocol = static_cast<int>(after.place % width),
                     .us = after.us,
                     .instead_of_algorithm = static_cast<int>(before.place / width),
                     .instead_of_protocol = static_cast<int>(before.place % width),
                     .channels = channels_for(network, group, call)};
}

int most_channels(const MeasuredNetwork& network) {
  if (network.connection_goodput.count == 0) return 0;
  const double channel = std::min(gbits(network.connection_goodput), params::tuner::kChannelGbits);
  const double enough = std::ceil(gbits(network.goodput) / channel);
  return static_cast<int>(std::clamp<double>(enough, kLeastChannels, params::tuner::kMostChannels));
}

int channels_for(const MeasuredNetwork& network, const TunedGroup& group, const TunedCall& call) {
  const int most = most_channels(network);
  if (most == 0 || group.ranks == 0) return 0;
  // What a step of a ring moves, and what one channel moves in the latency of a step.
  const double piece = static_cast<double>(call.bytes) / static_cast<double>(group.ranks);
  const double latent = gbits(network.connection_goodput) * to_micros(network.one_way) * 1e3 / 8.0;
  return static_cast<int>(std::clamp<double>(std::floor(piece / latent), 1, most));
}

uint64_t chunk_for(const MeasuredNetwork& network, const TunedGroup& group, const TunedCall& call,
                   TunedWay way, uint64_t chunk) {
  const bool tree = way.algorithm == kTunerTree && call.function == kTunerAllReduce;
  const bool chain = way.algorithm == kTunerRing &&
                     (call.function == kTunerBroadcast || call.function == kTunerReduce);
  const int channels = most_channels(network);
  if ((!tree && !chain) || way.protocol != kTunerSimple || channels == 0 || group.nodes < 3) {
    return chunk;
  }
  const double hops =
      tree ? 2.0 * static_cast<double>(log2_up(group.nodes)) : static_cast<double>(group.nodes - 1);
  // n bytes in chunks of c take (hops - 1 + n / c) (latency + c / rate): least at this size.
  const double rate = gbits(network.goodput) / channels * 1e3 / 8.0;  // bytes per microsecond
  const double best =
      std::sqrt(static_cast<double>(call.bytes) * to_micros(network.one_way) * rate / (hops - 1));
  uint64_t size = chunk;
  while (size / 2 >= kLeastChunk && static_cast<double>(size / 2) >= best) size /= 2;
  return size;
}

}  // namespace heddle::nccl
