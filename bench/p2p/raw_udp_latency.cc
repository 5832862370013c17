// The latency test: a message in each direction over connected sockets, both ends spinning or both
// sleeping.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

#include "bench/p2p/raw_calls.h"

namespace heddle::bench {
namespace {

constexpr size_t kMaxRounds = 4u << 20;

double half_us(const std::vector<uint32_t>& sorted, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at] / 2e3;
}

}  // namespace

Result<RawLatency> ping(const RawSocket& udp, const RawRequest& request) {
  std::vector<std::byte> buffer(request.message_bytes);  // outlives a receive of an io_uring
  const Result<std::unique_ptr<RawCalls>> calls = open_calls(udp, request);
  if (!calls) return fail(calls.error());
  std::vector<uint32_t> rounds;
  rounds.reserve(kMaxRounds);
  RawLatency result;
  const Nanos warm = raw_now() + millis(100);
  const Nanos end = warm + seconds(request.seconds);
  while (rounds.size() < kMaxRounds) {
    const Nanos start = raw_now();
    if (start > end) break;
    if (!(*calls)->send(buffer) || !(*calls)->await(buffer)) {
      ++result.lost;
      continue;
    }
    const Nanos took = raw_now() - start;
    if (start > warm) rounds.push_back(static_cast<uint32_t>(took.count));
  }
  result.rounds = rounds.size();
  if (rounds.empty()) return result;
  std::sort(rounds.begin(), rounds.end());
  result.min_us = half_us(rounds, 0);
  result.p50_us = half_us(rounds, 0.5);
  result.p99_us = half_us(rounds, 0.99);
  result.p999_us = half_us(rounds, 0.999);
  result.mean_us =
      std::accumulate(rounds.begin(), rounds.end(), 0.0) / static_cast<double>(rounds.size()) / 2e3;
  return result;
}

Result<void> pong(const RawSocket& udp, const RawRequest& request, const RawSocket& control) {
  std::vector<std::byte> buffer(request.message_bytes);  // outlives a receive of an io_uring
  const Result<std::unique_ptr<RawCalls>> calls = open_calls(udp, request);
  if (!calls) return fail(calls.error());
  while (true) {
    if (!(*calls)->await(buffer)) {
      if (has_input(control)) return {};
      continue;
    }
    static_cast<void>((*calls)->send(buffer));  // a lost message; the other end counts it
  }
}

}  // namespace heddle::bench
