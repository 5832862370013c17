// See stream_network.h.
#include "bench/diagnosis/stream_network.h"

#include <algorithm>
#include <cmath>

#include "bench/diagnosis/draw.h"

namespace heddle::bench {
namespace {

constexpr uint64_t kMessage = 101;  // purposes of draws
constexpr uint64_t kCongestion = 102;

constexpr double kLatencyNs = 20e3;
// Memory of a host beside its network.
constexpr double kWithinHost = 0.2;
// A repair takes from a round trip or two to a tail probe and a timeout.
constexpr double kRepairLeastNs = 100e3;
constexpr double kRepairMostNs = 10e6;
// Packets of a message, of which a lossy NIC loses some; repairs of several overlap.
constexpr double kPackets = 16;

uint64_t link_number(const Arrival& message) { return uint64_t{message.from} << 32 | message.to; }

}  // namespace

double StreamNetwork::fault_factor(const Arrival& message) const {
  const Truth& truth = job_.truth;
  if (truth.fault == Fault::kSlowHost) {
    const uint32_t host = job_.host_of(truth.rank);
    const bool at = job_.host_of(message.from) == host || job_.host_of(message.to) == host;
    return at ? truth.severity : 1;
  }
  if (truth.fault == Fault::kCollision) {
    const auto turn = static_cast<uint64_t>((message.at - onset_) / truth.turn_ns);
    return job_.collides(message.from, message.to) && job_.neighbor_sends(turn) ? 1 / truth.severity
                                                                                : 1;
  }
  const bool sends = message.from == truth.rank && truth.side != NicSide::kReceiving;
  const bool receives = message.to == truth.rank && truth.side != NicSide::kSending;
  if (truth.fault == Fault::kSlowNic && (sends || receives)) return 1 / truth.severity;
  const bool link = message.from == truth.rank && message.to == truth.peer;
  return truth.fault == Fault::kSlowLink && link ? 1 / truth.severity : 1;
}

double StreamNetwork::quiet_message_ns(double ns) { return ns + kLatencyNs; }

double StreamNetwork::on_link_ns(uint64_t call, uint32_t round, const Arrival& message,
                                 double ns) const {
  const Noise& noise = job_.noise;
  Random random = random_at(job_.seed, kMessage, call << 16 | round, link_number(message));
  double factor = lognormal(random, 0.03);
  if (job_.host_of(message.from) == job_.host_of(message.to)) return ns * factor * kWithinHost;
  if (noise.congestion_chance > 0) {
    const auto slot = static_cast<uint64_t>(message.at / noise.congestion_ns);
    Random burst = random_at(job_.seed, kCongestion, link_number(message), slot);
    if (chance(burst, noise.congestion_chance)) factor *= noise.congestion_factor;
  }
  double repairs = noise.repair_chance;
  if (message.at >= onset_) {
    factor *= fault_factor(message);
    const Truth& truth = job_.truth;
    const bool lossy =
        truth.fault == Fault::kLossyNic && (message.from == truth.rank || message.to == truth.rank);
    if (lossy) repairs += 1 - std::pow(1 - truth.severity, kPackets);
  }
  const double repair =
      chance(random, repairs) ? log_uniform(random, kRepairLeastNs, kRepairMostNs) : 0;
  return ns * factor + kLatencyNs + repair;
}

Transfer StreamNetwork::ring(uint64_t call, const std::vector<double>& started, uint32_t rounds) {
  const uint32_t ranks = job_.ranks;
  const double each = job_.transfer_ns / rounds;
  Transfer transfer{.ended = started, .arrivals = {}};
  std::vector<double> ready = started;  // what it sends next is there
  std::vector<double> free = started;   // its NIC has sent what came before
  for (uint32_t round = 0; round < rounds; ++round) {
    std::vector<double> next(ranks);
    for (uint32_t from = 0; from < ranks; ++from) {
      Arrival message{from, (from + 1) % ranks, end_of(from, std::max(ready[from], free[from])), 1};
      if (message.at < kNoTime) message.at += on_link_ns(call, round, message, each);
      free[from] = message.at;
      message.at = end_of(message.to, std::max(message.at, started[message.to]));
      if (message.at == kNoTime) free[from] = kNoTime;  // without an acknowledgement
      next[message.to] = message.at;
      transfer.ended[message.to] = message.at;
      transfer.arrivals.push_back(message);
    }
    ready = next;
  }
  // Its own last message is acknowledged.
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    transfer.ended[rank] = std::max(transfer.ended[rank], free[rank]);
  }
  return transfer;
}

Transfer StreamNetwork::exchange(uint64_t call, const std::vector<double>& started,
                                 const std::vector<double>& load) {
  const uint32_t ranks = job_.ranks;
  const double each = job_.transfer_ns / (ranks - 1);
  Transfer transfer{.ended = started, .arrivals = {}};
  for (uint32_t round = 1; round < ranks; ++round) {
    std::vector<double> over = transfer.ended;
    for (uint32_t from = 0; from < ranks; ++from) {
      Arrival message{from, (from + round) % ranks, transfer.ended[from], load[from]};
      message.at = end_of(from, std::max(message.at, transfer.ended[message.to]));
      if (message.at < kNoTime) message.at += on_link_ns(call, round, message, each * load[from]);
      message.at = end_of(message.to, message.at);
      over[from] = std::max(over[from], message.at);
      over[message.to] = std::max(over[message.to], message.at);
      transfer.arrivals.push_back(message);
    }
    transfer.ended = over;
  }
  return transfer;
}

}  // namespace heddle::bench
