// The network's clock, agents and ports. network_packets.cc has packet forwarding and faults.
#include "simulator/network.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "topology/ecmp.h"

namespace heddle::simulator {

using topology::LinkChangeKind;
using topology::LinkDirection;
using transport::Address;

namespace {

constexpr uint16_t kFirstSendPort = topology::kFirstSourcePort;
constexpr uint16_t kSendPorts = topology::kSourcePorts;  // per port

}  // namespace

Address address_of(NicId nic, uint16_t port) {
  Address address;
  address.host[0] = 0xfd;
  for (uint32_t i = 0; i < 4; ++i) address.host[15 - i] = static_cast<uint8_t>(nic >> (8 * i));
  address.port = port;
  return address;
}

std::array<uint8_t, 16> router_address(uint32_t switch_index) {
  std::array<uint8_t, 16> host = address_of(switch_index, 0).host;
  host[1] = 0xff;
  return host;
}

NicId nic_of(const Address& address) {
  NicId nic = 0;
  for (uint32_t i = 12; i < 16; ++i) nic = nic << 8 | address.host[i];
  return address_of(nic, address.port) == address ? nic : kNoIndex;
}

Network::Network(const topology::Topology& topology, const NetworkOptions& options, uint64_t seed)
    : topology_(topology),
      options_(options),
      routes_(topology),
      outlets_(topology_, links_, packets_, events_),
      balancer_(topology_, links_, outlets_, seed),
      nics_(topology.nics.size()),
      may_answer_at_(topology.switches.size()),
      now_(options.start),
      trace_hash_(seed) {
  CHECK(validate(topology).has_value());
  Random seeds(seed);
  for (LinkId id = 0; id < 2 * topology_.links.size(); ++id) {
    const topology::Link& cable = topology_.links[id / 2];
    topology::LinkShape shape = cable.shape;
    if (outlets_.has(id)) shape.ecn_threshold = {UINT64_MAX};  // outlets set the marks
    links_.emplace_back(shape);
    faults_.push_back({id % 2 == 0 ? cable.forward : cable.backward, seeds.fork()});
    special_.push_back(static_cast<uint8_t>((faults_.back().faults.any() ? kFaulty : 0) |
                                            (outlets_.has(id) ? kOutlet : 0)));
    link_ends_.push_back(end_of(topology_, id));
  }
  noticed_down_.resize(links_.size());
  for (const topology::Switch& each : topology_.switches) hash_seeds_.push_back(each.hash_seed);
  for (const uint32_t silent : options_.silent_switches) {
    may_answer_at_[silent] = Nanos::never();
  }
  for (uint32_t i = 0; i < topology_.changes.size(); ++i) {
    events_.push(options.start + topology_.changes[i].at, EventKind::kChange, i);
  }
}

Network::~Network() = default;

bool Network::step() {
  if (events_.empty()) return false;
  CHECK(!handling_);
  const Event event = events_.pop();
  CHECK(event.at >= now_);
  now_ = event.at;
  ++events_handled_;
  fetch_ahead();
  handling_ = true;
  handle(event);
  handling_ = false;
  return true;
}

// A large fabric exceeds the caches, and the data of the next events is known: prefetch it.
void Network::fetch_ahead() const {
  const LinkId next = events_.link_ahead(0);
  if (next == kNoIndex) return;
  const PacketId packet = links_[next].next_packet();
  if (packet != kNoIndex) __builtin_prefetch(&packets_[packet]);
  const LinkId behind = events_.link_ahead(1);
  if (behind == kNoIndex) return;
  __builtin_prefetch(&links_[behind]);
  __builtin_prefetch(reinterpret_cast<const std::byte*>(&links_[behind]) + 64);
}

void Network::run_until(Nanos until) {
  while (events_.next_at() <= until) step();
  now_ = std::max(now_, until);
}

// Links, agents and NICs may leave obsolete events behind; those have no effect.
void Network::handle(const Event& event) {
  switch (event.kind) {
    case EventKind::kLink:
      if (links_[event.subject].next_at() == now_) handle_link(event.subject);
      break;
    case EventKind::kPacket:
      reach(packets_[event.subject].node, event.subject);
      break;
    case EventKind::kAgent:
      if (agents_[event.subject].at == now_) run_agent(event.subject);
      break;
    case EventKind::kRoom:
      if (nics_[event.subject].room_at == now_) look_for_room(event.subject);
      break;
    case EventKind::kLeft:
      handle_left(event.subject);
      break;
    case EventKind::kChange:
      apply(topology_.changes[event.subject]);
      break;
    case EventKind::kRoutes:
      routes_ = Routes(topology_, noticed_down_);
      break;
  }
}

AgentId Network::add_agent(Agent& agent) {
  if (free_agents_.empty()) {
    free_agents_.push_back(static_cast<AgentId>(agents_.size()));
    agents_.emplace_back();
  }
  const AgentId id = free_agents_.back();
  free_agents_.pop_back();
  agents_[id] = {&agent, Nanos::never()};
  return id;
}

void Network::remove_agent(AgentId agent) {
  CHECK(agents_[agent].agent != nullptr);
  agents_[agent] = {};
  free_agents_.push_back(agent);
}

void Network::schedule(AgentId agent, Nanos at) {
  at = std::max(at, now_);
  if (at >= agents_[agent].at) return;
  agents_[agent].at = at;
  events_.push(at, EventKind::kAgent, agent);
}

void Network::run_agent(AgentId agent) {
  agents_[agent].at = Nanos::never();
  agents_[agent].agent->run(now_);
}

uint16_t Network::attach(NicId nic, uint16_t port, Port& receiver) {
  CHECK(nic < nics_.size());
  std::vector<Attached>& ports = nics_[nic].ports;
  for (const Attached& other : ports) CHECK(other.port != port);
  uint16_t base = kFirstSendPort;
  const auto taken = [&](const Attached& other) { return other.send_base == base; };
  while (std::any_of(ports.begin(), ports.end(), taken)) base += kSendPorts;
  CHECK(base >= kFirstSendPort && port < kFirstSendPort);
  ports.push_back({port, base, &receiver});
  return base;
}

void Network::detach(NicId nic, uint16_t port) {
  std::vector<Attached>& ports = nics_[nic].ports;
  const auto found = std::find_if(ports.begin(), ports.end(),
                                  [port](const Attached& each) { return each.port == port; });
  CHECK(found != ports.end());
  std::erase(nics_[nic].wanting_room, found->receiver);
  ports.erase(found);
}

bool Network::may_send(NicId nic, Port& sender) {
  if (queued_bytes(routes_.egress(nic)) <= options_.nic_queue.count) return true;
  NicState& state = nics_[nic];
  const auto known = std::find(state.wanting_room.begin(), state.wanting_room.end(), &sender);
  if (known == state.wanting_room.end()) state.wanting_room.push_back(&sender);
  if (state.room_at == Nanos::never()) look_for_room(nic);
  return false;
}

// Notifies waiting senders when half of the NIC's queue has drained.
void Network::look_for_room(NicId nic) {
  NicState& state = nics_[nic];
  const LinkId egress = routes_.egress(nic);
  if (outlets_.has(egress)) {
    // A pause makes the time unpredictable: each packet that leaves triggers this check again.
    if (outlets_.queued_bytes(egress) > options_.nic_queue.count / 2) return;
    return notify_of_room(state);
  }
  Link& link = links_[egress];
  const Nanos at = link.drained_to(now_, options_.nic_queue.count / 2);
  if (at > now_) {
    state.room_at = at;
    events_.push(at, EventKind::kRoom, nic);
    return;
  }
  notify_of_room(state);
}

void Network::notify_of_room(NicState& state) {
  state.room_at = Nanos::never();
  waiting_for_room_.swap(state.wanting_room);
  for (Port* port : waiting_for_room_) port->handle_room();
  waiting_for_room_.clear();
}

void Network::handle_left(LinkId link) {
  if (!outlets_.handle_left(now_, link)) return;
  const NodeId from = start_of(topology_, link);
  if (from < nics_.size() && !nics_[from].wanting_room.empty()) look_for_room(from);
}

LinkCounters Network::counters(LinkId link) const {
  LinkCounters counters = links_[link].counters();
  outlets_.add_counters(now_, link, counters);
  return counters;
}

uint64_t Network::queued_bytes(LinkId link) {
  return outlets_.has(link) ? outlets_.queued_bytes(link) : links_[link].queued_bytes(now_);
}

uint64_t Network::take_queue_peak(LinkId link) {
  return outlets_.has(link) ? outlets_.take_queue_peak(link) : links_[link].take_queue_peak(now_);
}

uint32_t Network::max_datagram_bytes(NicId nic) const {
  return std::min(links_[routes_.egress(nic)].shape().mtu_bytes, 65'535u) - kIpUdpBytes;
}

void Network::apply(const topology::LinkChange& change) {
  if (change.direction != LinkDirection::kBackward) apply_one(change, 2 * change.link);
  if (change.direction != LinkDirection::kForward) apply_one(change, 2 * change.link + 1);
}

void Network::apply_one(const topology::LinkChange& change, LinkId id) {
  Link& link = links_[id];
  switch (change.kind) {
    case LinkChangeKind::kDown:
      cut_off_.clear();
      link.set_down(now_, cut_off_);
      outlets_.cut_off(now_, id, cut_off_);
      for (const PacketId packet : cut_off_) discard(packet, Fate::kCutOff);
      break;
    case LinkChangeKind::kNotice:
      note_down(id, link.down());
      break;
    case LinkChangeKind::kUp:
      link.set_up();
      note_down(id, false);
      break;
    case LinkChangeKind::kRate:
      link.set_rate(now_, change.rate);
      rates_.add(id, now_, change.rate);
      if (link.next_at() != Nanos::never()) events_.push(link.next_at(), EventKind::kLink, id);
      break;
    case LinkChangeKind::kFaults:
      faults_[id].faults = change.faults;
      special_[id] =
          static_cast<uint8_t>((special_[id] & kOutlet) | (change.faults.any() ? kFaulty : 0));
      break;
  }
}

void Network::note_down(LinkId id, bool down) {
  if (noticed_down_[id] == static_cast<uint8_t>(down)) return;
  noticed_ += static_cast<uint32_t>(down) - noticed_down_[id];
  noticed_down_[id] = down;
  if (options_.routes_converge_after != Nanos::never()) {
    events_.push(now_ + options_.routes_converge_after, EventKind::kRoutes, 0);
  }
}

void Network::inject(const Address& from, const Address& to, std::span<const std::byte> datagram) {
  CHECK(datagram.size() <= 65'000);
  const NicId from_nic = nic_of(from);
  const NicId to_nic = nic_of(to);
  CHECK(from_nic < nics_.size() && to_nic < nics_.size());
  const PacketId id =
      packets_.lend(static_cast<uint16_t>(datagram.size()), 0, transport::kNoRegion, 0);
  Packet& packet = packets_[id];
  packet.from_nic = from_nic;
  packet.to_nic = to_nic;
  packet.from_port = from.port;
  packet.to_port = to.port;
  std::memcpy(packets_.bytes(packet), datagram.data(), datagram.size());
  send(id);
}

void Network::count(Fate fate, uint64_t trace_detail) {
  fates_.add(fate);
  trace(static_cast<uint64_t>(fate) << 56 ^ trace_detail);
}

void Network::trace(uint64_t what) {
  uint64_t z = trace_hash_ ^ (what + static_cast<uint64_t>(now_.count));
  z *= 0x9e3779b97f4a7c15;
  trace_hash_ = z ^ (z >> 29);
}

}  // namespace heddle::simulator
