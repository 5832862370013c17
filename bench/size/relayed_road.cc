// See relayed_road.h. Each process is polled: a turn after input and two more, since what a step
// posts leaves with the next turn.
#include "bench/size/relayed_road.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datapath/regions.h"
#include "datapath/resolve.h"
#include "relaying/acceptor.h"
#include "relaying/relay.h"
#include "relaying/relayed_link.h"
#include "simulator/world.h"
#include "topology/generators.h"

namespace heddle::bench {
namespace {

using relaying::RelayedLink;
using simulator::EngineProcess;

constexpr uint64_t kPattern = 26;
constexpr uint32_t kTurnsBehindInput = 2;
constexpr Nanos kPollEvery = micros(20);
constexpr Nanos kMostTime = seconds(60);
constexpr uint16_t kOnwardPort = 2;  // of a relay's socket towards the next hop

class Polled : public simulator::EngineProgram {
 public:
  explicit Polled(EngineProcess& process) : process_(process) {
    process.set_program(this);
    process.poke();
  }

 protected:
  virtual void step() = 0;
  EngineProcess& process_;

 private:
  bool handle_turn(EngineProcess& process) final {
    step();
    due_at_ = process.now() + kPollEvery;
    behind_ = behind_ == kTurnsBehindInput ? 0 : behind_ + 1;
    return behind_ != 0;
  }
  Nanos due_at() const final { return due_at_; }

  Nanos due_at_;
  uint32_t behind_ = 0;
};

// A relay has a socket for either side, as `heddle relay` has: their senders share no capacity.
class Station {
 public:
  Station(EngineProcess& near, EngineProcess& far, const std::string& next, uint64_t memory)
      : relay_(near.endpoint(), far.endpoint(), relaying::Destinations::make({next}).value(),
               {.memory_bytes = memory, .most_sessions = 1}, [](const relaying::SessionReport&) {}),
        near_(near, relay_),
        far_(far, relay_) {}
  uint64_t most_held_bytes() const { return relay_.counts().most_held_bytes; }

 private:
  class Side final : public Polled {
   public:
    Side(EngineProcess& process, relaying::Relay& relay) : Polled(process), relay_(relay) {}

   private:
    void step() override { relay_.step(); }
    relaying::Relay& relay_;
  };

  relaying::Relay relay_;
  Side near_;
  Side far_;
};

class Receiver final : public Polled {
 public:
  Receiver(EngineProcess& process, const RelayedRoad& road)
      : Polled(process),
        acceptor_(process.endpoint(), 1),
        posted_most_(2 * size_t{road.outstanding}),
        bytes_(road.message_bytes) {}
  // Every message has the same bytes.
  bool right() const { return datapath::pattern_mismatch(kPattern, 0, bytes_) == bytes_.size(); }

 private:
  void step() override {
    if (!link_) link_ = acceptor_.accept();
    if (!link_) return;
    link_->step();
    while (!posted_.empty() && link_->peek(posted_.front()).done) posted_.pop_front();
    while (posted_.size() < posted_most_) {
      const auto made = link_->receive(0, {.start = bytes_.data(), .bytes = bytes_.size()});
      if (!made) return;
      posted_.push_back(*made);
    }
    link_->step();
  }

  relaying::Acceptor acceptor_;
  const size_t posted_most_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<RelayedLink> link_;
  std::deque<engine::Operation> posted_;
};

class Sender final : public Polled {
 public:
  Sender(EngineProcess& process, const RelayedRoad& road, const std::vector<std::string>& relays,
         const std::string& destination)
      : Polled(process),
        outstanding_(road.outstanding),
        bytes_(road.message_bytes),
        link_(RelayedLink::connect(process.endpoint(), relays, destination, 1).value()) {
    datapath::fill_pattern(kPattern, 0, bytes_);
  }

  const std::vector<Nanos>& confirmed_at() const { return confirmed_at_; }
  const std::optional<Error>& error() const { return error_; }
  uint64_t retransmitted() const { return link_->retransmitted(); }

 private:
  void step() override {
    link_->step();
    while (!posted_.empty()) {
      const engine::Outcome outcome = link_->peek(posted_.front());
      if (!outcome.done) break;
      if (!outcome.ok) error_ = link_->status().error;
      posted_.pop_front();
      confirmed_at_.push_back(process_.now());
    }
    while (posted_.size() < outstanding_ && !error_) {
      const auto made = link_->send(0, {.start = bytes_.data(), .bytes = bytes_.size()});
      if (!made) return;
      posted_.push_back(*made);
    }
    link_->step();
  }

  const uint32_t outstanding_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<RelayedLink> link_;
  std::deque<engine::Operation> posted_;
  std::vector<Nanos> confirmed_at_;
  std::optional<Error> error_;
};

// The sender and its relay at one switch, the other relay and the receiver at the other.
topology::Topology two_sites(const RelayedRoad& road) {
  topology::LinkShape host{.rate = road.rate, .delay = road.site_delay / 2};
  topology::LinkShape cable{.rate = road.rate, .delay = road.cable_delay / 2};
  host.mtu_bytes = cable.mtu_bytes = road.mtu_bytes;
  host.queue = cable.queue = mebibytes(256);
  return topology::leaf_spine({.spines = 1, .host_link = host, .spine_link = cable});
}

// The transport's options are those of `heddle sim`, which has the same windows without relays.
EngineProcess& process_at(simulator::World& world, simulator::NicId nic, const RelayedRoad& road,
                          uint16_t port = simulator::SimDatapathOptions{}.port) {
  simulator::EngineProcessOptions options;
  options.process.datapath.nic = nic;
  options.process.datapath.port = port;
  options.process.datapath.max_paths = 256;
  options.process.datapath.receive_capacity = mebibytes(4);
  transport::EndpointOptions& transport = options.engine.transport;
  transport.accept = true;
  const Nanos round_trip = 4 * road.site_delay + 2 * road.cable_delay;
  transport.initial_window = bytes_within(2 * round_trip, road.rate);
  transport.longest_burst = {1};
  transport.passed_datagram_bytes = road.mtu_bytes - simulator::kIpUdpBytes;
  transport.receive_rate = road.rate;
  return world.add(options);
}

}  // namespace

Result<RoadResult> run_relayed(const RelayedRoad& road, uint32_t skipped) {
  if (skipped == 0 || road.outstanding == 0 || road.message_bytes == 0) {
    return fail(ErrorCode::kInvalid, "cannot measure a relayed road",
                "it needs messages, and some of them before those that count", "");
  }
  const relaying::RelayOptions memory{.memory_bytes = road.relay_bytes, .most_sessions = 1};
  if (auto sound = relaying::Relay::check(memory); !sound) return fail(sound.error());
  simulator::World world({.topology = two_sites(road)}, 1);
  std::vector<EngineProcess*> hosts;
  std::vector<std::string> names;
  for (simulator::NicId nic = 0; nic < 4; ++nic) {
    hosts.push_back(&process_at(world, nic, road));
    names.push_back(datapath::to_text(hosts.back()->address()));
  }
  Receiver receiver(*hosts[3], road);
  Station far(*hosts[2], process_at(world, 2, road, kOnwardPort), names[3], road.relay_bytes);
  Station near(*hosts[1], process_at(world, 1, road, kOnwardPort), names[2], road.relay_bytes);
  Sender sender(*hosts[0], road, {names[1], names[2]}, names[3]);

  const size_t first = size_t{skipped} * road.outstanding;
  const bool done = world.run_until_done(
      [&] { return sender.confirmed_at().size() >= 2 * first || sender.error(); }, kMostTime);
  if (sender.error()) return fail(*sender.error());
  if (!done) return fail(ErrorCode::kTimeout, "the messages did not arrive", "a minute passed", "");
  if (!receiver.right()) return fail(ErrorCode::kSystem, "a wrong byte arrived", "", "");
  const Nanos took = sender.confirmed_at()[2 * first - 1] - sender.confirmed_at()[first - 1];
  const double bits = 8.0 * static_cast<double>(first * road.message_bytes);
  return RoadResult{.goodput_bits_per_s = bits * 1e9 / static_cast<double>(took.count),
                    .most_held_bytes = near.most_held_bytes(),
                    .retransmitted = sender.retransmitted()};
}

}  // namespace heddle::bench
