// Names of calls and algorithms in workload files, and the algorithms of each call: see job.h.
#include <algorithm>
#include <array>
#include <charconv>

#include "topology/job.h"

namespace heddle::topology {
namespace {

constexpr std::array<std::string_view, kCallKinds> kKinds = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather",
    "scatter",    "all_to_all", "all_to_all_v",   "barrier",   "send",   "receive"};
constexpr std::array<std::string_view, kCallAlgorithms> kAlgorithms = {
    "ring",  "tree",   "recursive_doubling", "halving_doubling", "binomial", "pairwise",
    "bruck", "linear", "dissemination",      "two_level"};

constexpr uint32_t bit(CallAlgorithm algorithm) { return 1u << static_cast<uint32_t>(algorithm); }

// A bit for each algorithm of a kind; a test compares them with the existing schedules.
uint32_t algorithms(CallKind kind) {
  using Algorithm = CallAlgorithm;
  switch (kind) {
    case CallKind::kAllReduce:
      return bit(Algorithm::kRing) | bit(Algorithm::kTree) | bit(Algorithm::kRecursiveDoubling) |
             bit(Algorithm::kHalvingDoubling) | bit(Algorithm::kTwoLevel);
    case CallKind::kAllGather:
      return bit(Algorithm::kRing) | bit(Algorithm::kBruck);
    case CallKind::kReduceScatter:
      return bit(Algorithm::kRing) | bit(Algorithm::kPairwise);
    case CallKind::kBroadcast:
    case CallKind::kReduce:
      return bit(Algorithm::kRing) | bit(Algorithm::kTree) | bit(Algorithm::kBinomial);
    case CallKind::kGather:
    case CallKind::kScatter:
      return bit(Algorithm::kBinomial) | bit(Algorithm::kLinear);
    case CallKind::kAllToAll:
      return bit(Algorithm::kPairwise) | bit(Algorithm::kBruck);
    case CallKind::kAllToAllV:
      return bit(Algorithm::kPairwise);
    case CallKind::kBarrier:
      return bit(Algorithm::kDissemination);
    default:
      return 0;
  }
}

}  // namespace

std::string_view name_of(CallKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view name_of(CallAlgorithm algorithm) {
  return kAlgorithms[static_cast<size_t>(algorithm)];
}

std::optional<CallKind> call_named(std::string_view name) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const auto kind = static_cast<CallKind>(i);
    if (kKinds[i] == name && kind != CallKind::kAllToAllV) return kind;
  }
  return std::nullopt;
}

std::string text_of(const AlgorithmChoice& choice) {
  std::string text(name_of(choice.algorithm));
  if (choice.group_ranks > 0) text += "/" + std::to_string(choice.group_ranks);
  return text;
}

std::optional<AlgorithmChoice> algorithm_named(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('/'));
  const auto* const found = std::find(kAlgorithms.begin(), kAlgorithms.end(), name);
  if (found == kAlgorithms.end()) return std::nullopt;
  AlgorithmChoice choice{static_cast<CallAlgorithm>(found - kAlgorithms.begin()), 0};
  if (choice.algorithm != CallAlgorithm::kTwoLevel) {
    return name == text ? std::optional(choice) : std::nullopt;
  }
  const std::string_view ranks = text.substr(std::min(name.size() + 1, text.size()));
  const char* const end = ranks.data() + ranks.size();
  const auto [rest, error] = std::from_chars(ranks.data(), end, choice.group_ranks);
  if (error != std::errc() || rest != end || choice.group_ranks < 2) return std::nullopt;
  return choice;
}

bool has_algorithm(CallKind kind, CallAlgorithm algorithm) {
  return (algorithms(kind) & bit(algorithm)) != 0;
}

std::string algorithms_of(CallKind kind) {
  std::string all;
  for (size_t i = 0; i < kAlgorithms.size(); ++i) {
    if (!has_algorithm(kind, static_cast<CallAlgorithm>(i))) continue;
    all += (all.empty() ? "" : ", ") + std::string(kAlgorithms[i]);
    if (static_cast<CallAlgorithm>(i) == CallAlgorithm::kTwoLevel) all += "/RANKS_OF_A_GROUP";
  }
  return all;
}

bool in_blocks(CallKind kind) {
  return kind == CallKind::kAllGather || kind == CallKind::kReduceScatter ||
         kind == CallKind::kGather || kind == CallKind::kScatter || kind == CallKind::kAllToAll;
}

bool has_root(CallKind kind) {
  return kind == CallKind::kBroadcast || kind == CallKind::kReduce || kind == CallKind::kGather ||
         kind == CallKind::kScatter;
}

}  // namespace heddle::topology
