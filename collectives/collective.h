// Collectives and the algorithms that there are for them, as names and numbers that ranks agree on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::collectives {

// A call's kind; its number travels in signatures and stays what it is.
enum class Collective : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kAllToAllV,
  kBarrier,
  kSend,
  kReceive,
};
inline constexpr uint32_t kCollectives = 12;

enum class Algorithm : uint8_t {
  kRing,               // Patarasuk and Yuan, 2009; broadcast and reduce go along it as a chain
  kTree,               // double binary tree: Sanders, Speck and Träff, 2009
  kRecursiveDoubling,  // Thakur, Rabenseifner and Gropp, 2005
  kHalvingDoubling,    // Rabenseifner, 2004
  kBinomial,
  kPairwise,       // every rank with every other, one after the other
  kBruck,          // Bruck et al., 1997
  kLinear,         // the root with every rank
  kDissemination,  // Hensgen, Finkel and Manber, 1988
  kTwoLevel,       // inside groups, across them, inside: BlueConnect, Cho et al., 2019
};
inline constexpr uint32_t kAlgorithms = 10;

// "allreduce", "alltoall", as settings and nccl-tests spell them.
std::string_view name_of(Collective collective);
// "ring", "recursive_doubling".
std::string_view name_of(Algorithm algorithm);
std::optional<Collective> collective_named(std::string_view name);
std::optional<Algorithm> algorithm_named(std::string_view name);

// Whether there is a schedule of this algorithm for it.
bool can_run(Collective collective, Algorithm algorithm);

}  // namespace heddle::collectives
