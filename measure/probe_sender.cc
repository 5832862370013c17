// See probe_sender.h.
#include "measure/probe_sender.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clocks.h"
#include "base/interrupt.h"
#include "datapath/resolve.h"
#include "measure/probe_packet.h"
#include "measure/probe_params.h"
#include "measure/probe_ports.h"
#include "probing/train.h"

namespace heddle::measure {
namespace {

using probing::FlowKey;
using probing::FlowProbes;
using probing::HopProbes;
using probing::Task;
using probing::TaskKind;

class Sender {
 public:
  explicit Sender(const probing::SendSpec& spec) : spec_(spec) {}

  Result<probing::Observations> run() {
    if (Result<void> known = ports_.learn(spec_.round.nics, spec_.round.port); !known) {
      return fail(known.error());
    }
    for (const Task& task : spec_.tasks) {
      for (uint16_t i = 0; i < task.ports; ++i) {
        const auto port = static_cast<uint16_t>(task.first_port + i);
        if (const auto open = ports_.open({task.from, port}); !open) return fail(open.error());
      }
    }
    trace();
    repeat(TaskKind::kDeliver);
    repeat(TaskKind::kHop);
    for (const Task& task : spec_.tasks) {
      if (task.kind == TaskKind::kTrain) send_train(task);
    }
    if (interrupted() != 0) {
      return fail(ErrorCode::kCancelled, "stopped", "interrupted by a signal");
    }
    probing::Observations part;
    part.packets = packets_;
    part.flows = std::move(flows_);
    return part;
  }

 private:
  template <typename Use>
  void for_each_flow(TaskKind kind, Use use) {
    for (const Task& task : spec_.tasks) {
      if (task.kind != kind) continue;
      for (uint16_t i = 0; i < task.ports && interrupted() == 0; ++i) {
        use(task, FlowKey{task.from, task.to, static_cast<uint16_t>(task.first_port + i)});
      }
    }
  }

  HopProbes& hop_of(const FlowKey& key, uint8_t hop) {
    FlowProbes& flow = flows_[key];
    if (flow.hops.size() < hop) flow.hops.resize(hop);
    return flow.hops[hop - 1];
  }

  void trace();
  void trace_hop(const std::vector<FlowKey>& flows, uint8_t hop);
  void repeat(TaskKind kind);
  void send_train(const Task& task);
  Nanos send_once(const FlowKey& key, uint8_t hop);
  void send(const FlowKey& key, const ProbePacket& what, std::span<const std::byte> payload);
  void send_small(const FlowKey& key, TaskKind kind, uint8_t hop, uint16_t number);
  void pace(uint32_t packets_per_s);
  // Reads answers until nothing came in this time, or `done` says so.
  template <typename Done>
  void collect(Nanos most, Done done);
  void take(const ProbePort& port);
  void take_error(const ProbePort& port, const transport::NetworkError& error, Nanos at);
  void take_answer(const ProbePort& port, const datapath::ProbeArrival& arrival);

  const probing::SendSpec& spec_;
  ProbePorts ports_;
  std::map<FlowKey, FlowProbes> flows_;
  std::map<FlowKey, uint8_t> arrived_;        // the least hop limit with which a trace arrived
  std::vector<probing::TrainArrival> train_;  // answers to the train that was sent last
  bool train_arrived_ = false;
  uint8_t traced_hop_ = 0;
  std::map<FlowKey, Nanos> traced_at_;  // its latest packet was sent, by the wall clock
  uint64_t packets_ = 0;
  Nanos next_at_;
};

void Sender::trace() {
  std::vector<FlowKey> flows;
  for_each_flow(TaskKind::kTrace,
                [&](const Task& /*task*/, const FlowKey& key) { flows.push_back(key); });
  std::map<FlowKey, uint32_t> silent;
  for (uint8_t hop = 1; hop <= params::kMostProbeHops && !flows.empty(); ++hop) {
    trace_hop(flows, hop);
    const auto is_done = [&](const FlowKey& key) {
      if (arrived_.contains(key)) return true;
      uint32_t& count = silent[key];
      count = hop_of(key, hop).answered > 0 ? 0 : count + 1;
      return count >= params::kSilentHops;
    };
    flows.erase(std::remove_if(flows.begin(), flows.end(), is_done), flows.end());
    if (interrupted() != 0) return;
  }
  for (const auto& [key, hop] : arrived_) {  // routers are before the destination
    FlowProbes& flow = flows_[key];
    if (flow.hops.size() >= hop) flow.hops.resize(hop - 1);
  }
}

void Sender::trace_hop(const std::vector<FlowKey>& flows, uint8_t hop) {
  traced_hop_ = hop;
  const auto waits = [&](const FlowKey& key) {
    return !arrived_.contains(key) && hop_of(key, hop).answered == 0;
  };
  for (uint32_t attempt = 0; attempt < params::kTraceAttempts; ++attempt) {
    std::vector<FlowKey> left;
    std::copy_if(flows.begin(), flows.end(), std::back_inserter(left), waits);
    if (left.empty() || interrupted() != 0) return;
    for (const FlowKey& key : left) {
      if (interrupted() != 0) return;
      pace(spec_.packets_per_s);
      ++hop_of(key, hop).sent;
      traced_at_[key] = wall_now();
      send_small(key, TaskKind::kTrace, hop, static_cast<uint16_t>(attempt));
    }
    collect(params::kAnswerTime, [&] { return std::none_of(left.begin(), left.end(), waits); });
  }
}

// One packet of each flow after the other, so that a flow's are apart.
void Sender::repeat(TaskKind kind) {
  uint32_t most = 0;
  for (const Task& task : spec_.tasks) {
    if (task.kind == kind) most = std::max(most, task.count);
  }
  const bool expires = kind == TaskKind::kHop;
  const uint32_t rate = spec_.packets_per_s * (expires ? 1 : params::kDeliveryRates);
  for (uint32_t round = 0; round < most && interrupted() == 0; ++round) {
    for_each_flow(kind, [&](const Task& task, const FlowKey& key) {
      if (round >= task.count) return;
      pace(rate);
      ++(expires ? hop_of(key, task.hop).sent : flows_[key].sent);
      send_small(key, kind, task.hop, static_cast<uint16_t>(round));
    });
  }
  if (most > 0) collect(params::kAnswerTime, [] { return false; });
}

void Sender::send_train(const Task& task) {
  if (interrupted() != 0) return;
  const FlowKey key{task.from, task.to, task.first_port};
  Nanos sent = Nanos::never();
  for (uint32_t i = 0; i < params::kTrainAttempts && sent > params::kTrainSending; ++i) {
    sent = send_once(key, task.hop);
    flows_[key].train_sent = rate_of({params::kTrainPackets * kTrainFrame.count}, sent);
  }
  if (task.hop == 0) return;
  hop_of(key, task.hop).train_rate =
      probing::train_rate(train_, params::kTrainPackets, kTrainFrame);
}

// The time until the last packet of a train was sent.
Nanos Sender::send_once(const FlowKey& key, uint8_t hop) {
  const std::array<std::byte, params::kTrainPayload> payload{};
  train_.clear();
  train_arrived_ = false;
  const Nanos begun = steady_now();
  for (uint32_t i = 0; i < params::kTrainPackets; ++i) {
    ProbePacket packet;
    packet.kind = static_cast<uint8_t>(TaskKind::kTrain);
    packet.hop = hop;
    packet.number = static_cast<uint16_t>(i);
    send(key, packet, payload);
  }
  const Nanos sent = steady_now() - begun;
  collect(params::kTrainTime,
          [&] { return train_arrived_ || train_.size() == params::kTrainPackets; });
  return sent;
}

void Sender::send(const FlowKey& key, const ProbePacket& what, std::span<const std::byte> payload) {
  ProbePacket packet = what;
  packet.run = spec_.round.run;
  packet.from = static_cast<uint16_t>(key.from);
  packet.to = static_cast<uint16_t>(key.to);
  packet.sent_at = wall_now().count;
  std::array<std::byte, params::kTrainPayload> bytes{};
  const auto head = packet.bytes();
  std::copy(head.begin(), head.end(), bytes.begin());
  const size_t size = std::max(payload.size(), head.size());
  const transport::Address* const to = ports_.address_of(key.to);
  if (to == nullptr) return;
  const uint8_t limit = packet.hop == 0 ? params::kHopLimit : packet.hop;
  ports_.at({key.from, key.source_port}).send(*to, limit, std::span(bytes).first(size));
  ++packets_;
}

void Sender::send_small(const FlowKey& key, TaskKind kind, uint8_t hop, uint16_t number) {
  ProbePacket packet;
  packet.kind = static_cast<uint8_t>(kind);
  packet.hop = hop;
  packet.number = number;
  send(key, packet, {});
}

void Sender::pace(uint32_t packets_per_s) {
  const Nanos now = steady_now();
  next_at_ = std::max(next_at_, now - millis(2));  // a timer that fires late costs no rate
  if (next_at_ > now) {
    collect(next_at_ - now, [] { return false; });
  }
  next_at_ += seconds(1) / packets_per_s;
}

template <typename Done>
void Sender::collect(Nanos most, Done done) {
  const Nanos end = steady_now() + most;
  while (!done()) {
    const Nanos left = end - steady_now();
    for (const ProbePort& port : ports_.wait(left)) take(port);
    if (left.count <= 0 || interrupted() != 0) return;
  }
}

void Sender::take(const ProbePort& port) {
  datapath::ProbeSocket& socket = ports_.at(port);
  transport::NetworkError error;
  Nanos at;
  for (int i = 0; i < params::kDatagramsOfTurn && socket.take_error(error, at); ++i) {
    take_error(port, error, at);
  }
  datapath::ProbeArrival arrival;
  for (int i = 0; i < params::kDatagramsOfTurn && socket.receive(arrival); ++i) {
    take_answer(port, arrival);
  }
}

void Sender::take_error(const ProbePort& port, const transport::NetworkError& error, Nanos at) {
  if (error.kind != transport::NetworkErrorKind::kTimeExceeded) return;
  ProbePacket packet;
  const std::span<const std::byte> quoted(error.quoted.data(), error.quoted_bytes);
  if (!ProbePacket::read(quoted, spec_.round.run, packet)) {
    // Some routers quote only the UDP header (RFC 792). A trace has one hop limit at a time.
    if (!quoted.empty() || traced_hop_ == 0) return;
    packet.kind = static_cast<uint8_t>(TaskKind::kTrace);
    packet.hop = traced_hop_;
    packet.to = static_cast<uint16_t>(ports_.nic_at(error.to));
    const auto traced = traced_at_.find({port.first, packet.to, port.second});
    if (traced == traced_at_.end()) return;
    packet.sent_at = traced->second.count;
  }
  const FlowKey key{port.first, packet.to, port.second};
  if (packet.hop == 0 || packet.hop > params::kMostProbeHops || !flows_.contains(key)) return;
  const Nanos now = at.count > 0 ? at : wall_now();
  if (packet.kind == static_cast<uint8_t>(TaskKind::kTrain)) {
    train_.push_back({packet.number, now});
    return;
  }
  HopProbes& hop = hop_of(key, packet.hop);
  const Nanos round_trip = now - Nanos{packet.sent_at};
  hop.round_trip_min = hop.answered == 0 ? round_trip : std::min(hop.round_trip_min, round_trip);
  hop.answered = std::min(hop.answered + 1, hop.sent);  // others may forge answers
  const std::string router = datapath::host_text({.host = error.router});
  hop.varies = hop.varies || (!hop.router.empty() && hop.router != router);
  if (hop.router.empty()) hop.router = router;
}

void Sender::take_answer(const ProbePort& port, const datapath::ProbeArrival& arrival) {
  ProbePacket packet;
  if (!ProbePacket::read(arrival.start(), spec_.round.run, packet)) return;
  if (packet.from != port.first || (packet.kind & kAnswerKind) == 0) return;
  if (!ports_.is_of(arrival.from, packet.to)) return;
  const auto kind = static_cast<uint8_t>(packet.kind & ~kAnswerKind);
  if (kind == static_cast<uint8_t>(TaskKind::kTrain)) train_arrived_ = true;
  if (kind != static_cast<uint8_t>(TaskKind::kTrace) || packet.hop == 0) return;
  const FlowKey key{port.first, packet.to, port.second};
  const auto [at, is_new] = arrived_.emplace(key, packet.hop);
  if (!is_new) at->second = std::min(at->second, packet.hop);
}

}  // namespace

Result<probing::Observations> send_probes(const probing::SendSpec& spec) {
  return Sender(spec).run();
}

}  // namespace heddle::measure
