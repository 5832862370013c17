// The tuner's model: how long the network's part of a collective takes by algorithm and protocol,
// from measured rate and delay, and the choices that follow. Pure; tuner.h calls it. All ranks of
// a communicator must choose alike, so everything follows from arguments that they share.
//
// A collective between nodes takes no less time than its part on the network, so NCCL's own cost
// of a choice is raised to that where it is lower, and never lowered. What the model does not know
// (CollNet, NVLS between nodes, later algorithms) leaves the whole call to NCCL.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/nanos.h"
#include "nccl/measured_network.h"
#include "nccl/tuner_types.h"
#include "plugins/nccl/params.h"

namespace heddle::nccl {

// Of a communicator.
struct TunedGroup {
  uint64_t ranks = 1;
  uint64_t nodes = 1;
};

struct TunedCall {
  int function = kTunerAllReduce;
  uint64_t bytes = 0;       // as NCCL counts them: of the larger of send and receive buffer
  uint64_t operations = 1;  // that NCCL merges into this one
};

// How a collective is done.
struct TunedWay {
  int algorithm = kTunerRing;
  int protocol = kTunerSimple;
};

// NCCL's costs, in microseconds: a row for each algorithm, a column for each protocol.
struct CostTable {
  std::span<float> values;
  int protocols = kTunerProtocols;
};

// What a step costs beyond the network, in microseconds, by protocol.
using StepDelays = std::array<double, kTunerProtocols>;
// NCCL's latencies of a tree over a network (2.30.7), each less that of LL: delays of GPU and
// proxy, without the network that was part of all three.
inline constexpr StepDelays kStepDelays = {0.0, 3.5, 9.0};
// The same from the constants that version 5 and later pass; kStepDelays if these make no sense.
StepDelays step_delays(const double (&net_latencies)[kTunerAlgorithms][kTunerProtocols]);

// Microseconds of the network's part. Nothing for a choice that the model does not know, and for a
// group on one node.
std::optional<double> network_us(const MeasuredNetwork& network, const StepDelays& delays,
                                 const TunedGroup& group, const TunedCall& call, TunedWay way);

struct TunedChoice {
  int algorithm = kTunerUndefined;
  int protocol = 0;
  double us = 0;
  int instead_of_algorithm = kTunerUndefined;  // NCCL's own choice
  int instead_of_protocol = 0;
  int channels = 0;  // 0: NCCL's number
};

// Costs that are too low are raised. Returns what NCCL will choose;
// nothing, with all costs as they were, where the choice is left to NCCL.
std::optional<TunedChoice> choose(const MeasuredNetwork& network, const StepDelays& delays,
                                  const TunedGroup& group, const TunedCall& call, CostTable costs);

// The number of channels of a large call: as many as fill the network. 0: unknown.
int most_channels(const MeasuredNetwork& network);
// Of this call: no more than have data for one latency at a time. 0: unknown.
int channels_for(const MeasuredNetwork& network, const TunedGroup& group, const TunedCall& call);

// The size of a chunk in a pipeline of nodes (trees, and rings of a broadcast or reduce) with which
// the call's bytes, those of one channel, pass it soonest: NCCL's `chunk`, halved zero or more
// times, at least kLeastChunk. `chunk` itself where there is no such pipeline.
inline constexpr uint64_t kLeastChunk = params::tuner::kLeastChunk;
uint64_t chunk_for(const MeasuredNetwork& network, const TunedGroup& group, const TunedCall& call,
                   TunedWay way, uint64_t chunk);

}  // namespace heddle::nccl
