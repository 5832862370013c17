// What all versions of NCCL's tuner interface share: numbers of collectives, algorithms and
// protocols, and the structures that init() passes. Layouts as of NCCL 2.30.7, and of later headers
// for version 7.
#pragma once

#include <cstddef>

#include "nccl/types.h"

namespace heddle::nccl {

// ncclFunc_t, of the collectives that a tuner is asked about.
enum TunerFunction : int {
  kTunerBroadcast = 0,
  kTunerReduce = 1,
  kTunerAllGather = 2,
  kTunerReduceScatter = 3,
  kTunerAllReduce = 4,
};
inline constexpr int kTunerFunctions = 5;

// NCCL_ALGO_*, rows of a table of costs. Old versions of NCCL pass fewer rows.
enum TunerAlgorithm : int {
  kTunerUndefined = -1,
  kTunerTree = 0,
  kTunerRing = 1,
  kTunerCollnetDirect = 2,
  kTunerCollnetChain = 3,
  kTunerNvls = 4,
  kTunerNvlsTree = 5,
  kTunerPat = 6,
};
inline constexpr int kTunerAlgorithms = 7;

// NCCL_PROTO_*, columns of a table of costs.
enum TunerProtocol : int { kTunerLl = 0, kTunerLl128 = 1, kTunerSimple = 2 };
inline constexpr int kTunerProtocols = 3;

// NCCL_ALGO_PROTO_IGNORE: the cost of what NCCL does not offer.
inline constexpr float kTunerIgnored = -1.0F;

// NCCL_HW_*: the kind of link that a latency is of.
inline constexpr int kTunerHwNet = 2;
inline constexpr int kTunerHwLinks = 3;

// ncclNvlDomainInfo, from version 5 on.
struct TunerNvlDomains {
  int domains;
  int min_ranks;  // of a domain
  int max_ranks;
};

// ncclTunerConstants: NCCL's own model, which init() may change. Latencies in microseconds,
// bandwidths in GB/s. `kCapabilities`: 4 in versions 5 and 6, 5 in version 7.
template <int kCapabilities>
struct TunerConstants {
  static constexpr int kScales = 3;  // one node, two, four and more
  using Bandwidths = double[kCapabilities][kScales];

  double base_latencies[kTunerAlgorithms][kTunerProtocols];
  double hw_latencies[kTunerHwLinks][kTunerAlgorithms][kTunerProtocols];
  Bandwidths ll_max;
  Bandwidths channel_ring_ll128;
  Bandwidths channel_tree_ll128;
  Bandwidths channel_tree;
  Bandwidths channel_nvls_tree;
};

static_assert(sizeof(TunerNvlDomains) == 3 * sizeof(int));
static_assert(sizeof(TunerConstants<4>) == (21 + 63 + 5 * 12) * sizeof(double));
static_assert(sizeof(TunerConstants<5>) == (21 + 63 + 5 * 15) * sizeof(double));
static_assert(offsetof(TunerConstants<5>, ll_max) == 84 * sizeof(double));

}  // namespace heddle::nccl
