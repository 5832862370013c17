// Estimates: see estimate.h. In the formulas n is the number of ranks and N the bytes.
#include "collectives/choice/estimate.h"

#include <algorithm>
#include <bit>

#include "collectives/params.h"
#include "collectives/schedule/shape.h"

namespace heddle::collectives {
namespace {

Work all_reduce_work(Algorithm algorithm, uint64_t n, uint64_t bytes, uint64_t group_ranks) {
  const auto rounds = static_cast<uint64_t>(std::bit_width(n - 1));  // log2 n, rounded up
  const auto whole = static_cast<uint64_t>(std::bit_width(n)) - 1;   // and down
  const uint64_t fold = std::has_single_bit(n) ? 0 : 1;              // ranks beyond 2^whole
  const uint64_t share = bytes / n * (n - 1);
  const uint64_t large = bytes - std::min(bytes, params::kSmallMessageBytes);
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling:
      return {.messages = whole + 2 * fold,
              .sent = (whole + 2 * fold) * bytes,
              .reduced = (whole + fold) * bytes,
              .idle = (whole - 1) * large};
    case Algorithm::kHalvingDoubling:
      return {.messages = 2 * whole + 2 * fold,
              .sent = 2 * share + 2 * fold * bytes,
              .reduced = share + fold * bytes,
              .idle = whole > 1 ? 2 * large / 3 : 0,
              .granted_ahead = true};
    case Algorithm::kTree:
      return {.messages = 2 * rounds, .sent = 2 * bytes, .reduced = bytes, .idle = large};
    case Algorithm::kTwoLevel:
      return {.messages = 2 * (group_ranks + n / group_ranks - 2),
              .sent = 2 * share,
              .reduced = share,
              .granted_ahead = true};
    default:
      return {.messages = 2 * (n - 1), .sent = 2 * share, .reduced = share, .granted_ahead = true};
  }
}

// A chain and the trees forward chunks as they come, so the data counts once (in a binomial tree
// for each child), and the first chunk passes every rank of the longest route.
Work rooted_work(Algorithm algorithm, uint64_t n, uint64_t bytes, bool reduces) {
  const auto rounds = static_cast<uint64_t>(std::bit_width(n - 1));
  const uint64_t reduced = reduces ? bytes : 0;
  if (algorithm == Algorithm::kRing) {
    return {.messages = n - 1, .sent = bytes, .reduced = reduced};
  }
  if (algorithm == Algorithm::kTree) {
    return {.messages = rounds + 1, .sent = bytes + bytes / 2, .reduced = reduced};
  }
  return {.messages = rounds, .sent = rounds * bytes, .reduced = rounds * reduced};
}

}  // namespace

bool Work::waits_for_grants() const {
  return !granted_ahead && sent > (messages + following) * params::kSmallMessageBytes;
}

Work work_of(Collective collective, Algorithm algorithm, uint64_t ranks, uint64_t bytes,
             uint32_t group_ranks) {
  const uint64_t n = ranks;
  const auto rounds = static_cast<uint64_t>(std::bit_width(n - 1));
  const uint64_t share = bytes / n * (n - 1);
  switch (collective) {
    case Collective::kAllReduce:
      return all_reduce_work(algorithm, n, bytes,
                             group_ranks_of(static_cast<uint32_t>(n), group_ranks));
    case Collective::kBroadcast:
    case Collective::kReduce:
      return rooted_work(algorithm, n, bytes, collective == Collective::kReduce);
    case Collective::kReduceScatter:
      // Pairwise sends to all at once, and what they send meets at the receiver.
      if (algorithm == Algorithm::kPairwise) {
        return {.messages = 1, .following = n - 2, .sent = share + share / 8, .reduced = share};
      }
      return {.messages = n - 1, .sent = share, .reduced = share};
    case Collective::kAllGather:
      if (algorithm == Algorithm::kBruck) return {.messages = rounds, .sent = share + bytes / 2};
      return {.messages = n - 1, .sent = share};
    case Collective::kGather:
    case Collective::kScatter:
      if (algorithm == Algorithm::kBinomial) {
        return {.messages = rounds, .sent = share + bytes / 2};
      }
      return {.messages = 1, .following = n - 2, .sent = share};
    case Collective::kAllToAll:
      if (algorithm == Algorithm::kBruck) {
        return {.messages = rounds, .sent = rounds * (bytes / 2) + bytes};
      }
      return {.messages = 1, .following = n - 2, .sent = share};
    default:
      return {.messages = rounds, .sent = bytes};
  }
}

uint64_t estimated_ns(const Tuning& network, Collective collective, Algorithm algorithm,
                      uint32_t ranks, uint64_t bytes) {
  if (ranks < 2) return 0;
  const Work work = work_of(collective, algorithm, ranks, bytes, network.group_ranks_among(ranks));
  const uint64_t small = std::max(network.latency_ns, 1U);
  const uint64_t latency = work.waits_for_grants() ? network.large_latency_ns : small;
  const uint64_t following = network.following_ns * latency / small;
  return work.messages * latency + work.following * following +
         (work.sent + work.idle) * network.send_ps_per_byte / 1000 +
         work.reduced * network.reduce_ps_per_byte / 1000;
}

}  // namespace heddle::collectives
