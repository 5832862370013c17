// Tuning: the model's formulas, and the text that pins algorithms. In them n is the number of ranks
// and N the bytes; a is the latency of a message, f what one takes that follows it at once, b a
// byte's time on the network, c a byte's time in the reduction.
#include "collectives/tuning.h"

#include <algorithm>
#include <bit>
#include <string>

namespace heddle::collectives {
namespace {

constexpr uint8_t kNotPinned = 0xff;
constexpr size_t kMeasuredAt = 33;
constexpr size_t kPinnedAt = Tuning::kBytes - kCollectives;

void put(std::byte* bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

uint32_t take(const std::byte* bytes, size_t count = 4) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

// Binary logarithm in 1,024ths, straight between powers of two.
uint64_t log_of(uint64_t bytes) {
  const auto whole = static_cast<uint64_t>(std::bit_width(bytes)) - 1;
  const uint64_t part = whole >= 10 ? bytes >> (whole - 10) : bytes << (10 - whole);
  return whole * 1024 + part - 1024;
}

// What was measured holds at its sizes and somewhat above; between them and to where the numbers
// alone hold, little by little.
uint64_t correction(const Tuning::Measured& measured, uint64_t bytes) {
  struct Point {
    uint64_t log;
    uint64_t value;
  };
  const std::array<Point, 6> points = {{{log_of(2 << 10), Tuning::kAsSaid},
                                        {log_of(Tuning::kMeasuredBytes[0]), measured[0]},
                                        {log_of(Tuning::kMeasuredBytes[1]), measured[1]},
                                        {log_of(Tuning::kMeasuredBytes[2]), measured[2]},
                                        {log_of(1 << 20), measured[2]},
                                        {log_of(4 << 20), Tuning::kAsSaid}}};
  const uint64_t log = log_of(std::max<uint64_t>(bytes, 1));
  if (log <= points.front().log || log >= points.back().log) return Tuning::kAsSaid;
  size_t next = 1;
  while (points[next].log < log) ++next;
  const Point& from = points[next - 1];
  const Point& to = points[next];
  return (from.value * (to.log - log) + to.value * (log - from.log)) / (to.log - from.log);
}

Work all_reduce_work(Algorithm algorithm, uint64_t n, uint64_t bytes) {
  const auto rounds = static_cast<uint64_t>(std::bit_width(n - 1));
  const uint64_t fold = std::has_single_bit(n) ? 0 : 1;
  const uint64_t share = bytes / n * (n - 1);
  const auto whole = static_cast<uint64_t>(std::bit_width(n)) - 1;
  // What waits for another round's peer, or goes down a tree in chunks.
  const uint64_t large = bytes - std::min(bytes, Work::kSmallMessageBytes);
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling:
      return {.messages = whole + 2 * fold,
              .sent = (whole + 2 * fold) * bytes,
              .reduced = (whole + fold) * bytes,
              .delayed = (whole - 1) * large};
    case Algorithm::kHalvingDoubling:
      return {.messages = 2 * whole + 2 * fold,
              .sent = 2 * share + 2 * fold * bytes,
              .reduced = share + fold * bytes,
              .delayed = whole > 1 ? 2 * large / 3 : 0,
              .granted_ahead = true};
    case Algorithm::kTree:
      return {.messages = 2 * rounds, .sent = 2 * bytes, .reduced = bytes, .delayed = large};
    default:
      return {.messages = 2 * (n - 1), .sent = 2 * share, .reduced = share, .granted_ahead = true};
  }
}

Work traffic_of(Collective collective, Algorithm algorithm, uint64_t n, uint64_t bytes) {
  const auto rounds = static_cast<uint64_t>(std::bit_width(n - 1));
  const uint64_t share = bytes / n * (n - 1);
  switch (collective) {
    case Collective::kAllReduce:
      return all_reduce_work(algorithm, n, bytes);
    case Collective::kBroadcast:
    case Collective::kReduce: {
      const uint64_t reduced = collective == Collective::kReduce ? bytes : 0;
      // A chain and the trees are pipelined, so that the data counts once (in a binomial tree for
      // each child); the first chunk takes the whole way.
      if (algorithm == Algorithm::kRing) return {n - 1, 0, bytes, reduced};
      if (algorithm == Algorithm::kTree) return {rounds + 1, 0, bytes + bytes / 2, reduced};
      return {rounds, 0, rounds * bytes, rounds * reduced};
    }
    case Collective::kReduceScatter:
      // Pairwise sends all at once, and everything meets at the receiver.
      if (algorithm == Algorithm::kPairwise) return {1, n - 2, share + share / 8, share};
      return {n - 1, 0, share, share};
    case Collective::kAllGather:
      if (algorithm == Algorithm::kBruck) return {rounds, 0, share + bytes / 2, 0};
      return {n - 1, 0, share, 0};
    case Collective::kGather:
    case Collective::kScatter:
      if (algorithm == Algorithm::kBinomial) return {rounds, 0, share + bytes / 2, 0};
      return {1, n - 2, share, 0};
    case Collective::kAllToAll:
      if (algorithm == Algorithm::kBruck) return {rounds, 0, rounds * (bytes / 2) + bytes, 0};
      return {1, n - 2, share, 0};
    default:
      return {rounds, 0, bytes, 0};
  }
}

}  // namespace

Work work_of(Collective collective, Algorithm algorithm, uint64_t size, uint64_t bytes) {
  Work work = traffic_of(collective, algorithm, size, bytes);
  work.to_neighbours = algorithm == Algorithm::kRing;
  return work;
}

uint64_t Tuning::cost_ns(Collective collective, Algorithm algorithm, uint32_t size,
                         uint64_t bytes) const {
  if (size < 2) return 0;
  const Work work = work_of(collective, algorithm, size, bytes);
  const uint64_t latency = work.waits_for_grants() ? large_latency_ns : latency_ns;
  const uint64_t said =
      work.messages * latency +
      work.following * (uint64_t{following_ns} * latency / std::max(latency_ns, 1U)) +
      (work.sent + work.delayed) * (work.to_neighbours ? ring_ps_per_byte : send_ps_per_byte) /
          1000 +
      work.reduced * reduce_ps_per_byte / 1000;
  if (collective != Collective::kAllReduce) return said;
  return said * correction(all_reduces[static_cast<size_t>(algorithm)], bytes) / kAsSaid;
}

Algorithm Tuning::choose(Collective collective, uint32_t size, uint64_t bytes) const {
  const std::optional<Algorithm>& fixed = pinned[static_cast<size_t>(collective)];
  if (fixed) return *fixed;
  std::optional<Algorithm> best;
  uint64_t best_ns = 0;
  for (uint32_t i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (!can_run(collective, algorithm)) continue;
    const uint64_t ns = cost_ns(collective, algorithm, size, bytes);
    if (best && ns >= best_ns) continue;
    best = algorithm;
    best_ns = ns;
  }
  return *best;
}

void Tuning::write(std::byte* bytes) const {
  put(bytes, latency_ns, 4);
  put(bytes + 4, send_ps_per_byte, 4);
  put(bytes + 8, reduce_ps_per_byte, 4);
  put(bytes + 12, chunk_bytes, 4);
  put(bytes + 16, large_latency_ns, 4);
  put(bytes + 20, to_be_fitted ? 1 : 0, 1);
  put(bytes + 21, ring_ps_per_byte, 4);
  put(bytes + 25, burst_payload_bytes, 4);
  put(bytes + 29, following_ns, 4);
  for (size_t i = 0; i < kAlgorithms * kMeasuredBytes.size(); ++i) {
    const uint16_t value = all_reduces[i / kMeasuredBytes.size()][i % kMeasuredBytes.size()];
    put(bytes + kMeasuredAt + 2 * i, value, 2);
  }
  for (size_t i = 0; i < kCollectives; ++i) {
    const auto value = pinned[i] ? static_cast<uint8_t>(*pinned[i]) : kNotPinned;
    put(bytes + kPinnedAt + i, value, 1);
  }
}

Result<Tuning> Tuning::read(const std::byte* bytes) {
  Tuning tuning;
  tuning.latency_ns = take(bytes);
  tuning.send_ps_per_byte = take(bytes + 4);
  tuning.reduce_ps_per_byte = take(bytes + 8);
  tuning.chunk_bytes = take(bytes + 12);
  tuning.large_latency_ns = take(bytes + 16);
  tuning.to_be_fitted = bytes[20] != std::byte{0};
  tuning.ring_ps_per_byte = take(bytes + 21);
  tuning.burst_payload_bytes = take(bytes + 25);
  tuning.following_ns = take(bytes + 29);
  for (size_t i = 0; i < kAlgorithms * kMeasuredBytes.size(); ++i) {
    tuning.all_reduces[i / kMeasuredBytes.size()][i % kMeasuredBytes.size()] =
        static_cast<uint16_t>(take(bytes + kMeasuredAt + 2 * i, 2));
  }
  for (size_t i = 0; i < kCollectives; ++i) {
    const auto value = static_cast<uint8_t>(bytes[kPinnedAt + i]);
    if (value == kNotPinned) continue;
    const auto algorithm = static_cast<Algorithm>(value);
    if (value >= kAlgorithms || !can_run(static_cast<Collective>(i), algorithm)) {
      return fail(ErrorCode::kVersion, "cannot choose algorithms as rank 0 does",
                  "it names one that is not known here", "run the same version on all ranks");
    }
    tuning.pinned[i] = algorithm;
  }
  if (tuning.chunk_bytes == 0) {
    return fail(ErrorCode::kVersion, "cannot choose algorithms as rank 0 does",
                "its chunks have no size", "run the same version on all ranks");
  }
  return tuning;
}

Result<void> pin_algorithms(std::string_view text, Tuning& tuning) {
  const std::string what = "cannot pin algorithms by '" + std::string(text) + "'";
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t colon = item.find(':');
    const std::optional<Collective> collective = collective_named(item.substr(0, colon));
    const std::optional<Algorithm> algorithm =
        colon == std::string_view::npos ? std::nullopt : algorithm_named(item.substr(colon + 1));
    if (!collective || !algorithm) {
      return fail(ErrorCode::kInvalid, what,
                  "'" + std::string(item) + "' names no collective or no algorithm",
                  "give pairs as in allreduce:ring,alltoall:bruck");
    }
    if (!can_run(*collective, *algorithm)) {
      std::string all;
      for (uint32_t i = 0; i < kAlgorithms; ++i) {
        if (!can_run(*collective, static_cast<Algorithm>(i))) continue;
        all += (all.empty() ? "" : ", ") + std::string(name_of(static_cast<Algorithm>(i)));
      }
      return fail(ErrorCode::kInvalid, what,
                  std::string(name_of(*collective)) + " has no " + std::string(name_of(*algorithm)),
                  "choose from " + all);
    }
    tuning.pinned[static_cast<size_t>(*collective)] = *algorithm;
  }
  return {};
}

}  // namespace heddle::collectives
