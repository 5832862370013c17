// See probe_receiver.h. An answer is as large as the probe's head, so it cannot be used to amplify
// traffic, and only probes that have the number of the run and the address of the NIC that they
// name are counted and answered.
#include "measure/probe_receiver.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/clocks.h"
#include "datapath/resolve.h"
#include "measure/probe_packet.h"
#include "measure/probe_params.h"
#include "measure/probe_ports.h"
#include "probing/train.h"

namespace heddle::measure {
namespace {

using probing::FlowKey;
using probing::FlowProbes;
using probing::TaskKind;

class Receiver {
 public:
  explicit Receiver(const probing::RoundSpec& spec) : spec_(spec) {}

  Result<void> open() {
    if (Result<void> known = ports_.learn(spec_.nics, spec_.port); !known) return known;
    const std::vector<transport::Address> own = datapath::host_addresses(spec_.port);
    size_t open = 0;
    for (const probing::NicAddress& nic : spec_.nics) {
      const transport::Address& address = *ports_.address_of(nic.nic);
      const auto is_it = [&](const transport::Address& each) { return each.host == address.host; };
      if (std::none_of(own.begin(), own.end(), is_it)) continue;
      if (const auto socket = ports_.open({nic.nic, spec_.port}); !socket) {
        return fail(socket.error());
      }
      ++open;
    }
    if (open > 0) return {};
    return fail(ErrorCode::kUnavailable, "cannot receive probes",
                "this host has none of the addresses that are probed",
                "write NAME=ADDRESS with the addresses of its NICs");
  }

  // False: the round's time ran out.
  bool run(const std::function<bool()>& ended) {
    const Nanos end = steady_now() + spec_.lasts;
    while (!ended()) {
      if (steady_now() >= end) return false;
      for (const ProbePort& port : ports_.wait(millis(50))) take_all(port);
    }
    return true;
  }

  probing::Observations finish() {
    probing::Observations part;
    for (const auto& [key, train] : trains_) end_train(key, train);
    part.flows = std::move(flows_);
    return part;
  }

 private:
  struct Train {
    std::vector<probing::TrainArrival> arrivals;
  };

  void take_all(const ProbePort& port) {
    datapath::ProbeSocket& socket = ports_.at(port);
    transport::NetworkError ignored;
    Nanos at;
    for (int i = 0; i < params::kDatagramsOfTurn && socket.take_error(ignored, at);) ++i;
    datapath::ProbeArrival arrival;
    for (int i = 0; i < params::kDatagramsOfTurn && socket.receive(arrival); ++i) {
      take(port.first, socket, arrival);
    }
  }

  void take(uint32_t nic, datapath::ProbeSocket& socket, const datapath::ProbeArrival& arrival) {
    ProbePacket packet;
    if (!ProbePacket::read(arrival.start(), spec_.run, packet)) return;
    if ((packet.kind & kAnswerKind) != 0 || packet.to != nic) return;
    if (!ports_.is_of(arrival.from, packet.from)) return;
    if (arrival.from.port < spec_.first_port) return;
    if (arrival.from.port - spec_.first_port >= spec_.ports) return;
    const FlowKey key{packet.from, nic, arrival.from.port};
    FlowProbes& flow = flows_[key];
    const uint8_t limit = packet.hop == 0 ? params::kHopLimit : packet.hop;
    if (arrival.hop_limit <= limit) {
      const uint32_t routers = limit - arrival.hop_limit;
      flow.routers = flow.routers ? std::min(*flow.routers, routers) : routers;
    }
    const bool is_train = packet.kind == static_cast<uint8_t>(TaskKind::kTrain);
    if (is_train) note_train(key, packet, arrival.at);
    if (packet.kind == static_cast<uint8_t>(TaskKind::kDeliver) && is_first(key, packet.number)) {
      ++flow.delivered;
      const Nanos one_way = arrival.at - Nanos{packet.sent_at};
      flow.one_way_min = flow.one_way_min ? std::min(*flow.one_way_min, one_way) : one_way;
    }
    const bool is_trace = packet.kind == static_cast<uint8_t>(TaskKind::kTrace);
    if (!is_trace && !(is_train && packet.number + 1u == params::kTrainPackets)) return;
    packet.kind |= kAnswerKind;
    const auto answer = packet.bytes();
    socket.send(arrival.from, params::kHopLimit, answer);
  }

  // A network that doubles packets does not make up for lost ones.
  bool is_first(const FlowKey& key, uint16_t number) {
    std::vector<bool>& arrived = arrived_[key];
    if (arrived.size() <= number) arrived.resize(size_t{number} + 1);
    const bool is_first = !arrived[number];
    arrived[number] = true;
    return is_first;
  }

  void note_train(const FlowKey& key, const ProbePacket& packet, Nanos at) {
    Train& train = trains_[key];
    if (packet.number == 0 && !train.arrivals.empty()) {
      end_train(key, train);
      train.arrivals.clear();
    }
    if (train.arrivals.size() >= params::kTrainArrivals) return;
    train.arrivals.push_back({packet.number, at});
  }

  void end_train(const FlowKey& key, const Train& train) {
    const BitsPerSec rate = probing::train_rate(train.arrivals, params::kTrainPackets, kTrainFrame);
    std::vector<BitsPerSec>& rates = flows_[key].train_rates;
    if (rate.count > 0 && rates.size() < params::kTrainsOfFlow) rates.push_back(rate);
  }

  const probing::RoundSpec& spec_;
  ProbePorts ports_;
  std::map<FlowKey, FlowProbes> flows_;
  std::map<FlowKey, Train> trains_;
  std::map<FlowKey, std::vector<bool>> arrived_;  // deliveries, by number
};

}  // namespace

Result<probing::Observations> receive_probes(const probing::RoundSpec& spec,
                                             const std::function<void()>& ready,
                                             const std::function<bool()>& ended) {
  Receiver receiver(spec);
  if (Result<void> open = receiver.open(); !open) return fail(open.error());
  ready();
  if (!receiver.run(ended)) {
    return fail(ErrorCode::kTimeout, "cannot receive probes",
                "the round took longer than its packets can", "see what keeps the senders busy");
  }
  return receiver.finish();
}

}  // namespace heddle::measure
