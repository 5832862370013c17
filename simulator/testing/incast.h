// Incast: many hosts send one message each to one receiver at the same time, round after round,
// while a victim flow shares the senders' and the receiver's leaves. It reports the time of each
// message in simulated time. Tests assert on it; bench/incast prints it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "simulator/testing/stream.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::simulator {

struct IncastOptions {
  std::string congestion = "credits";
  uint32_t senders = 8;
  uint64_t message_bytes = 65'536;
  uint32_t rounds = 20;
  BitsPerSec rate = gigabits_per_s(10);  // of every host link
  Bytes queue = kibibytes(300);          // in front of it
  Bytes ecn_threshold = {UINT64_MAX};
  uint32_t mtu_bytes = 1500;
  BitsPerSec receive_rate;  // configured at the receiver; zero: measured
  bool victim = true;
  bool incast = true;  // false: the victim alone
  Bytes receive_capacity = mebibytes(2);
  uint32_t loss_per_million = 0;  // on every link between switches
};

struct IncastResult {
  bool done = false;
  std::vector<Nanos> times;   // of all messages, sorted
  std::vector<double> rates;  // of each sender while it had data, in an arbitrary unit
  double victim_rate = 0;     // bits per nanosecond
  uint64_t queued_most = 0;   // maximum at the receiver's link, in bytes
  uint64_t drops = 0;         // at the receiver's link
  Nanos ideal;                // senders x size / rate

  Nanos percentile(uint32_t percent) const {
    return times.empty() ? Nanos::never() : times[(times.size() - 1) * percent / 100];
  }
  double jain() const {
    double sum = 0;
    double squares = 0;
    for (const double rate : rates) {
      sum += rate;
      squares += rate * rate;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(rates.size()) * squares) : 0;
  }
};

// Sends to its peer on request, or receives from all that connect.
class IncastEnd : public TransportProgram {
 public:
  IncastEnd(TransportProcess& process, uint64_t bytes, const transport::Address* peer)
      : process_(process), bytes_(bytes), sends_(peer != nullptr) {
    process.set_program(this);
    region_ = process.register_virtual(1, bytes);
    if (sends_) {
      connections_.push_back(*process.endpoint().post_connect(process.now(), *peer, {}));
    }
    process.poke();
  }
  size_t opened() const { return opened_; }
  uint32_t ended() const { return ended_; }
  std::vector<Nanos> ended_at;  // of each connection's latest message, in accept order

  // Posts one message, or a receive on every connection.
  void post() {
    for (size_t i = 0; i < connections_.size(); ++i) {
      auto& endpoint = process_.endpoint();
      const transport::Payload payload{region_, 0, bytes_};
      const auto posted =
          sends_ ? endpoint.post_send(process_.now(), {connections_[i], 0}, payload, i)
                 : endpoint.post_receive(process_.now(), {connections_[i], 0}, payload, i);
      CHECK(posted.has_value());
    }
    process_.poke();
  }

 private:
  bool handle_turn(TransportProcess& process) override {
    transport::Notice notice;
    while (process.endpoint().poll_notice(notice)) {
      if (notice.kind == transport::NoticeKind::kClosed) continue;
      ++opened_;
      if (notice.kind == transport::NoticeKind::kAccepted) {
        connections_.push_back(notice.connection);
        ended_at.push_back({});
      }
    }
    transport::Completion completion;
    while (process.endpoint().poll_completion(completion)) {
      if (!completion.ok) continue;
      ++ended_;
      if (!sends_) ended_at[completion.operation] = process.network().now();
    }
    return false;
  }

  TransportProcess& process_;
  uint64_t bytes_;
  bool sends_;
  transport::RegionId region_ = transport::kNoRegion;
  std::vector<transport::ConnectionId> connections_;
  size_t opened_ = 0;
  uint32_t ended_ = 0;
};

// Hosts 0 (the receiver) and 1 (the victim's receiver) are on leaf 0, with idle hosts. The senders
// are on leaf 1; the victim's sender is the last one there. Links between switches are four times
// as fast as a host's.
inline topology::Topology incast_fabric(const IncastOptions& options) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 4, .hosts_per_leaf = options.senders + 1};
  shape.host_link = {.rate = options.rate,
                     .delay = micros(1),
                     .queue = options.queue,
                     .ecn_threshold = options.ecn_threshold,
                     .mtu_bytes = options.mtu_bytes};
  shape.spine_link = shape.host_link;
  shape.spine_link.rate = {4 * options.rate.count};
  shape.spine_link.delay = micros(2);
  topology::Topology fabric = topology::leaf_spine(shape);
  for (size_t i = 2 * shape.hosts_per_leaf; i < fabric.links.size(); ++i) {
    fabric.links[i].forward.loss_per_million = options.loss_per_million;
    fabric.links[i].backward.loss_per_million = options.loss_per_million;
  }
  return fabric;
}

inline TransportProcessOptions incast_process(const IncastOptions& options, NicId nic) {
  TransportProcessOptions process;
  process.process.datapath.nic = nic;
  process.process.datapath.receive_capacity = options.receive_capacity;
  process.transport.accept = true;
  process.transport.congestion = options.congestion;
  process.transport.receive_rate = options.receive_rate;
  return process;
}

inline IncastResult run_incast(const IncastOptions& options, uint64_t seed = 1) {
  World world({.topology = incast_fabric(options)}, seed);
  const uint32_t hosts = options.senders + 1;
  std::vector<TransportProcess*> processes;
  for (uint32_t nic = 0; nic < 2 * hosts; ++nic) {
    processes.push_back(&world.add(incast_process(options, nic)));
  }
  IncastResult result;
  result.ideal = transmit_time({options.senders * options.message_bytes}, options.rate);
  IncastEnd receiver(*processes[0], options.message_bytes, nullptr);
  std::vector<std::unique_ptr<IncastEnd>> senders;
  const transport::Address to = processes[0]->address();
  for (uint32_t i = 0; options.incast && i < options.senders; ++i) {
    senders.push_back(
        std::make_unique<IncastEnd>(*processes[hosts + i], options.message_bytes, &to));
  }
  std::unique_ptr<Stream> sink;
  std::unique_ptr<Stream> victim;
  if (options.victim) {
    StreamOptions stream{.messages = 1'000'000};
    sink = std::make_unique<Stream>(*processes[1], stream);
    stream.peer = processes[1]->address();
    victim = std::make_unique<Stream>(*processes[2 * hosts - 1], stream);
  }
  world.run_for(millis(20));
  const Nanos start = world.now();
  const uint64_t victim_start = sink ? sink->statistics()->payload_bytes_received : 0;
  const uint64_t drops_before = world.network().counters(1).queue_drops;
  result.done = receiver.opened() == senders.size();
  std::vector<double> busy(senders.size());
  std::vector<uint32_t> order(senders.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (uint32_t round = 0; result.done && round < options.rounds; ++round) {
    const Nanos began = world.now();
    if (!options.incast) {
      world.run_for(result.ideal);
      continue;
    }
    receiver.post();
    // The order of the senders changes from round to round.
    for (uint32_t left = options.senders; left > 1; --left) {
      std::swap(order[left - 1], order[random.below(left)]);
    }
    for (const uint32_t sender : order) senders[sender]->post();
    const uint32_t all = (round + 1) * options.senders;
    const auto over = [&] {
      result.queued_most = std::max(result.queued_most, world.network().queued_bytes(1));
      return receiver.ended() == all;
    };
    result.done = world.run_until_done(over, seconds(20));
    for (size_t i = 0; i < senders.size(); ++i) {
      const Nanos took = receiver.ended_at[i] - began;
      result.times.push_back(took);
      busy[i] += static_cast<double>(took.count);
    }
    world.run_for(micros(100));
  }
  if (sink) {
    const uint64_t got = sink->statistics()->payload_bytes_received - victim_start;
    result.victim_rate =
        static_cast<double>(got) * 8 / static_cast<double>((world.now() - start).count);
    sink->forget();
  }
  for (const double nanos : busy) result.rates.push_back(1 / nanos);
  std::sort(result.times.begin(), result.times.end());
  result.drops = world.network().counters(1).queue_drops - drops_before;
  return result;
}

}  // namespace heddle::simulator
