// Tuning: the choice of an algorithm (Tuning::choose), what travels from rank 0 to the others, and
// the text that pins algorithms.
#include "collectives/tuning.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "collectives/choice/estimate.h"
#include "collectives/group.h"
#include "collectives/schedule/shape.h"

namespace heddle::collectives {
uint64_t Tuning::cost_ns(Collective collective, Algorithm algorithm, uint32_t size,
                         uint64_t bytes) const {
  if (costs.ranks == size) {
    const std::optional<uint64_t> measured = costs.cost_ns(collective, algorithm, bytes);
    if (measured) return *measured;
  }
  return estimated_ns(*this, collective, algorithm, size, bytes);
}

uint32_t Tuning::group_ranks_among(uint32_t size) const {
  return group_ranks_of(size, pinned_group_ranks > 0 ? pinned_group_ranks : group_ranks);
}

Algorithm Tuning::choose(Collective collective, uint32_t size, uint64_t bytes) const {
  const std::optional<Algorithm>& fixed = pinned[static_cast<size_t>(collective)];
  if (fixed) return *fixed;
  std::optional<Algorithm> best;
  uint64_t best_ns = 0;
  for (uint32_t i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (!can_run(collective, algorithm)) continue;
    const bool one_group = group_ranks_among(size) == size;
    if (algorithm == Algorithm::kTwoLevel && one_group) continue;  // it is a ring
    const uint64_t ns = cost_ns(collective, algorithm, size, bytes);
    if (best && ns >= best_ns) continue;
    best = algorithm;
    best_ns = ns;
  }
  return *best;
}

namespace {

constexpr uint8_t kNotPinned = 0xff;

// Little-endian numbers, one after the other.
class Writer {
 public:
  explicit Writer(std::byte* at) : at_(at) {}
  void put(uint64_t value, size_t count) {
    for (size_t i = 0; i < count; ++i) *at_++ = static_cast<std::byte>(value >> (8 * i));
  }

 private:
  std::byte* at_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  uint64_t take(size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= static_cast<uint64_t>(*at_++) << (8 * i);
    return value;
  }
  uint32_t take4() { return static_cast<uint32_t>(take(4)); }

 private:
  const std::byte* at_;
};

// "/4".
std::optional<uint32_t> group_ranks_in(std::string_view text) {
  uint32_t ranks = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, ranks);
  if (error != std::errc() || rest != end || ranks < 2 || ranks > kMostRanks) return std::nullopt;
  return ranks;
}

Unexpected of_another_version(const std::string& why) {
  return fail(ErrorCode::kVersion, "cannot choose algorithms as rank 0 does", why,
              "run the same version on all ranks");
}

}  // namespace

void Tuning::write(std::byte* bytes) const {
  Writer out(bytes);
  for (const uint32_t number :
       {latency_ns, large_latency_ns, following_ns, send_ps_per_byte, reduce_ps_per_byte,
        chunk_bytes, burst_payload_bytes, group_ranks, pinned_group_ranks}) {
    out.put(number, 4);
  }
  out.put(to_be_measured ? 1 : 0, 1);
  out.put(costs.ranks, 4);
  for (const auto& row : costs.ns) {
    for (const uint64_t ns : row) out.put(ns, 8);
  }
  for (const auto& each : pinned) out.put(each ? static_cast<uint8_t>(*each) : kNotPinned, 1);
}

Result<Tuning> Tuning::read(const std::byte* bytes) {
  Reader in(bytes);
  Tuning tuning;
  for (uint32_t* const number :
       {&tuning.latency_ns, &tuning.large_latency_ns, &tuning.following_ns,
        &tuning.send_ps_per_byte, &tuning.reduce_ps_per_byte, &tuning.chunk_bytes,
        &tuning.burst_payload_bytes, &tuning.group_ranks, &tuning.pinned_group_ranks}) {
    *number = in.take4();
  }
  tuning.to_be_measured = in.take(1) != 0;
  tuning.costs.ranks = in.take4();
  for (auto& row : tuning.costs.ns) {
    for (uint64_t& ns : row) ns = in.take(8);
  }
  for (size_t i = 0; i < kCollectives; ++i) {
    const auto value = static_cast<uint8_t>(in.take(1));
    if (value == kNotPinned) continue;
    const auto algorithm = static_cast<Algorithm>(value);
    if (value >= kAlgorithms || !can_run(static_cast<Collective>(i), algorithm)) {
      return of_another_version("it names one that is not known here");
    }
    tuning.pinned[i] = algorithm;
  }
  if (tuning.chunk_bytes == 0) return of_another_version("its chunks have no size");
  return tuning;
}

Result<void> pin_algorithms(std::string_view text, Tuning& tuning) {
  const std::string what = "cannot pin algorithms by '" + std::string(text) + "'";
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t colon = item.find(':');
    const std::optional<Collective> collective = collective_named(item.substr(0, colon));
    std::string_view name = colon == std::string_view::npos ? "" : item.substr(colon + 1);
    const size_t slash = name.find('/');
    const std::string_view groups = name.substr(std::min(slash, name.size()));
    name = name.substr(0, slash);
    const std::optional<Algorithm> algorithm = algorithm_named(name);
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
    if (!groups.empty()) {
      const std::optional<uint32_t> ranks = group_ranks_in(groups);
      if (algorithm != Algorithm::kTwoLevel || !ranks) {
        return fail(ErrorCode::kInvalid, what,
                    "'" + std::string(item) + "' gives no groups of two ranks or more",
                    "give their number of ranks, as in allreduce:two_level/4");
      }
      tuning.pinned_group_ranks = *ranks;
    }
    tuning.pinned[static_cast<size_t>(*collective)] = *algorithm;
  }
  return {};
}

}  // namespace heddle::collectives
