// The network's clock, agents and ports. network_packets.cc has packet forwarding and faults.
#include "simulator/network.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace heddle::simulator {

using topology::LinkChangeKind;
using topology::LinkDirection;
using transport::Address;

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
      outlets_(topology_, links_, packets_, events_),
      forwarding_(topology_, links_, outlets_, seed),
      ports_(topology.nics.size()),
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
    const topology::LinkFaults& faults = id % 2 == 0 ? cable.forward : cable.backward;
    faults_.add(faults, seeds.fork());
    special_.push_back(
        static_cast<uint8_t>((faults.any() ? kFaulty : 0) | (outlets_.has(id) ? kOutlet : 0)));
    link_ends_.push_back(end_of(topology_, id));
  }
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
      if (agents_.due(event.subject, now_)) agents_.run(event.subject, now_);
      break;
    case EventKind::kRoom:
      if (ports_.room_at(event.subject) == now_) look_for_room(event.subject);
      break;
    case EventKind::kLeft:
      handle_left(event.subject);
      break;
    case EventKind::kChange:
      apply(topology_.changes[event.subject]);
      break;
    case EventKind::kRoutes:
      forwarding_.converge();
      break;
  }
}

void Network::schedule(AgentId agent, Nanos at) {
  at = std::max(at, now_);
  if (agents_.schedule(agent, at)) events_.push(at, EventKind::kAgent, agent);
}

bool Network::may_send(NicId nic, Port& sender) {
  if (queued_bytes(egress(nic)) <= options_.nic_queue.count) return true;
  ports_.want_room(nic, sender);
  if (ports_.room_at(nic) == Nanos::never()) look_for_room(nic);
  return false;
}

// Notifies waiting senders when half of the NIC's queue has drained.
void Network::look_for_room(NicId nic) {
  const LinkId link = egress(nic);
  if (outlets_.has(link)) {
    // A pause makes the time unpredictable: each packet that leaves triggers this check again.
    if (outlets_.queued_bytes(link) > options_.nic_queue.count / 2) return;
    return ports_.notify_of_room(nic);
  }
  const Nanos at = links_[link].drained_to(now_, options_.nic_queue.count / 2);
  if (at > now_) {
    ports_.set_room_at(nic, at);
    events_.push(at, EventKind::kRoom, nic);
    return;
  }
  ports_.notify_of_room(nic);
}

void Network::handle_left(LinkId link) {
  if (!outlets_.handle_left(now_, link)) return;
  const NodeId from = start_of(topology_, link);
  if (from < ports_.nics() && ports_.wants_room(from)) look_for_room(from);
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
  return std::min(links_[egress(nic)].shape().mtu_bytes, 65'535u) - kIpUdpBytes;
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
      faults_.set(id, change.faults);
      special_[id] =
          static_cast<uint8_t>((special_[id] & kOutlet) | (change.faults.any() ? kFaulty : 0));
      break;
  }
}

void Network::note_down(LinkId id, bool down) {
  if (!forwarding_.note_down(id, down)) return;
  if (options_.routes_converge_after != Nanos::never()) {
    events_.push(now_ + options_.routes_converge_after, EventKind::kRoutes, 0);
  }
}

void Network::inject(const Address& from, const Address& to, std::span<const std::byte> datagram) {
  CHECK(datagram.size() <= 65'000);
  const NicId from_nic = nic_of(from);
  const NicId to_nic = nic_of(to);
  CHECK(from_nic < ports_.nics() && to_nic < ports_.nics());
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
