// Names of collectives and algorithms, and which belong together; tuning.cc chooses between them.
#include "collectives/collective.h"

#include <array>
#include <cstddef>
#include <initializer_list>

namespace heddle::collectives {
namespace {

constexpr std::array<std::string_view, kCollectives> kCollectiveNames = {
    "allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather",
    "scatter",   "alltoall",  "alltoallv",     "barrier",   "send",   "recv"};

constexpr std::array<std::string_view, kAlgorithms> kAlgorithmNames = {
    "ring",  "tree",   "recursive_doubling", "halving_doubling", "binomial", "pairwise",
    "bruck", "linear", "dissemination",      "two_level"};

bool one_of(Algorithm algorithm, std::initializer_list<Algorithm> all) {
  for (const Algorithm each : all) {
    if (each == algorithm) return true;
  }
  return false;
}

template <typename Enum, size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Collective collective) {
  const auto index = static_cast<size_t>(collective);
  return index < kCollectives ? kCollectiveNames[index] : "unknown";
}

std::string_view name_of(Algorithm algorithm) {
  const auto index = static_cast<size_t>(algorithm);
  return index < kAlgorithms ? kAlgorithmNames[index] : "unknown";
}

std::optional<Collective> collective_named(std::string_view name) {
  return find<Collective>(kCollectiveNames, name);
}

std::optional<Algorithm> algorithm_named(std::string_view name) {
  return find<Algorithm>(kAlgorithmNames, name);
}

bool can_run(Collective collective, Algorithm algorithm) {
  using enum Algorithm;
  switch (collective) {
    case Collective::kAllReduce:
      return one_of(algorithm, {kRing, kTree, kRecursiveDoubling, kHalvingDoubling, kTwoLevel});
    case Collective::kAllGather:
      return one_of(algorithm, {kRing, kBruck});
    case Collective::kReduceScatter:
      return one_of(algorithm, {kRing, kPairwise});
    case Collective::kBroadcast:
    case Collective::kReduce:
      return one_of(algorithm, {kRing, kTree, kBinomial});
    case Collective::kGather:
    case Collective::kScatter:
      return one_of(algorithm, {kLinear, kBinomial});
    case Collective::kAllToAll:
      return one_of(algorithm, {kPairwise, kBruck});
    case Collective::kAllToAllV:
      return algorithm == kPairwise;
    case Collective::kBarrier:
      return algorithm == kDissemination;
    case Collective::kSend:
    case Collective::kReceive:
      return algorithm == kLinear;
  }
  return false;
}

}  // namespace heddle::collectives
