// The latency test: a message in each direction over plain connected sockets, both ends spinning or
// both sleeping.
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "bench/p2p/raw_udp_parts.h"

namespace heddle::bench {
namespace {

constexpr Nanos kPatience = millis(200);
constexpr size_t kMaxRounds = 4u << 20;

// Returns false if nothing arrives within kPatience.
bool await_message(const RawSocket& udp, std::vector<std::byte>& buffer, bool sleep) {
  if (sleep) return recv(udp.get(), buffer.data(), buffer.size(), 0) > 0;
  Nanos give_up;
  for (uint32_t tries = 0;; ++tries) {
    if (recv(udp.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) return true;
    if (tries == 0) {
      give_up = raw_now() + kPatience;
    } else if (tries % 256 == 0 && raw_now() > give_up) {
      return false;
    }
  }
}

void set_patience(const RawSocket& udp) {
  const timeval patience{.tv_sec = 0, .tv_usec = kPatience / micros(1)};
  setsockopt(udp.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

double half_us(const std::vector<uint32_t>& sorted, double share) {
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at] / 2e3;
}

}  // namespace

RawLatency ping(const RawSocket& udp, const RawRequest& request) {
  set_patience(udp);
  std::vector<std::byte> buffer(request.message_bytes);
  std::vector<uint32_t> rounds;
  rounds.reserve(kMaxRounds);
  RawLatency result;
  const Nanos warm = raw_now() + millis(100);
  const Nanos end = warm + seconds(request.seconds);
  while (rounds.size() < kMaxRounds) {
    const Nanos start = raw_now();
    if (start > end) break;
    const bool sent = send(udp.get(), buffer.data(), buffer.size(), 0) > 0;
    if (!sent || !await_message(udp, buffer, request.sleep != 0)) {
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

void pong(const RawSocket& udp, const RawRequest& request, const RawSocket& control) {
  set_patience(udp);
  std::vector<std::byte> buffer(request.message_bytes);
  while (true) {
    if (!await_message(udp, buffer, request.sleep != 0)) {
      if (has_input(control)) return;
      continue;
    }
    send(udp.get(), buffer.data(), buffer.size(), 0);
  }
}

}  // namespace heddle::bench
