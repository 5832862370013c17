// Packet forwarding: over links, through switches, to a port, with all faults.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "simulator/network.h"

namespace heddle::simulator {

using transport::Ecn;

namespace {

// A packet's contribution to the trace: enough that different histories hash differently.
uint64_t digest(const Packet& packet) {
  return uint64_t{packet.from_nic} << 40 ^ uint64_t { packet.to_nic } << 20 ^
         uint64_t { packet.from_port } << 8 ^ uint64_t { packet.datagram_bytes() } << 28 ^
         static_cast<uint64_t>(packet.ecn);
}

}  // namespace

void Network::send(PacketId id) {
  const Packet& packet = packets_[id];
  const NicId from = packet.from_nic;
  if (ports_.down(from)) return discard(id, Fate::kHostDown);
  if (packet.to_nic == from) {
    if (packet.kind == PacketKind::kWrite && !read_payload(id)) return;
    packets_[id].node = from;
    events_.push(now_ + options_.loopback_delay, EventKind::kPacket, id);
    return;
  }
  offer(egress(from), id);
}

void Network::offer(LinkId id, PacketId packet_id) {
  const Link& link = links_[id];
  const Packet& packet = packets_[packet_id];
  if (packet.datagram_bytes() + kIpUdpBytes > link.shape().mtu_bytes && !packet.may_fragment) {
    const uint32_t limit = link.shape().mtu_bytes - kIpUdpBytes;
    answer(start_of(topology_, id), packet, PacketKind::kTooLarge, limit);
    return discard(packet_id, Fate::kTooLarge);
  }
  const bool from_nic = id == egress(packet.from_nic);
  if (special_[id] != 0) return offer_specially(id, packet_id, from_nic);
  offer_faultless(id, packet_id, from_nic);
}

// For links with faults, and links whose queue is in an Outlet.
void Network::offer_specially(LinkId id, PacketId packet_id, bool unbounded) {
  PacketId copy = kNoIndex;
  if ((special_[id] & kFaulty) != 0 && !links_[id].down()) {
    if (faults_.duplicates(id)) {
      copy = packets_.clone(packet_id);
      count(Fate::kDuplicated, digest(packets_[packet_id]));
    }
    draw_faults(id, packet_id);
  }
  for (const PacketId each : {packet_id, copy}) {
    if (each == kNoIndex) continue;
    if ((special_[id] & kOutlet) == 0) {
      offer_faultless(id, each, unbounded);
      continue;
    }
    const Ecn before = packets_[each].ecn;
    settle(id, each, outlets_.offer(now_, id, each, unbounded, faults_.random(id)), before);
  }
}

void Network::offer_faultless(LinkId id, PacketId packet_id, bool unbounded) {
  Link& link = links_[id];
  const Ecn before = packets_[packet_id].ecn;
  const Nanos first_before = link.next_at();
  const Link::Verdict verdict =
      link.offer(now_, packet_id, packets_, unbounded, faults_.random(id));
  settle(id, packet_id, verdict, before);
  if (link.next_at() != first_before) events_.push(link.next_at(), EventKind::kLink, id);
}

void Network::settle(LinkId id, PacketId packet_id, Link::Verdict verdict, Ecn before) {
  switch (verdict) {
    case Link::Verdict::kDown:
      return discard(packet_id, Fate::kLinkDown);
    case Link::Verdict::kFull:
      return discard(packet_id, Fate::kQueueFull);
    case Link::Verdict::kTrimmed:
      return count(Fate::kTrimmed, digest(packets_[packet_id]));
    case Link::Verdict::kTaken:
      break;
  }
  if (packets_[packet_id].ecn != before) count(Fate::kMarked, id);
}

void Network::draw_faults(LinkId id, PacketId packet_id) {
  Packet& packet = packets_[packet_id];
  const LinkFaultDraws::Corrupted corrupted = faults_.apply(id, packet, packets_);
  if (corrupted.header) count(Fate::kHeaderCorrupted, digest(packet));
  if (corrupted.payload) count(Fate::kPayloadCorrupted, digest(packet));
}

void Network::handle_link(LinkId id) {
  Link& link = links_[id];
  const PacketId packet_id = link.pop(now_);
  if (link.next_at() != Nanos::never()) events_.push(link.next_at(), EventKind::kLink, id);
  Packet& packet = packets_[packet_id];
  if (packet.lost) return end_on_link(id, packet_id);
  if (packet.kind == PacketKind::kWrite && id == egress(packet.from_nic) &&
      !read_payload(packet_id)) {
    return;
  }
  packet.came_by = id;
  trace(uint64_t{id} << 48 ^ digest(packet));
  if (packet.reordered) {
    packet.reordered = false;
    count(Fate::kReordered, digest(packet));
    packet.node = link_ends_[id];
    events_.push(now_ + packet.held_back, EventKind::kPacket, packet_id);
    return;
  }
  reach(link_ends_[id], packet_id);
}

// The NIC that sends a piece of a write reads it. False: it may not (nor may that of a process that
// has ended), and the packet is gone.
bool Network::read_payload(PacketId id) {
  const Packet& packet = packets_[id];
  for (const NicPorts::Attached& each : ports_.of(packet.from_nic)) {
    if (each.sends_from(packet.from_port) && each.receiver->handle_departure(id)) return true;
  }
  discard(id, Fate::kWriteRecalled);
  return false;
}

void Network::end_on_link(LinkId id, PacketId packet_id) {
  const Packet& packet = packets_[packet_id];
  if (packet.kind != PacketKind::kPause && packet.kind != PacketKind::kGoOn) {
    return discard(packet_id, Fate::kLost);
  }
  trace(uint64_t{id} << 48 ^ static_cast<uint64_t>(packet.kind));
  outlets_.handle_pause(now_, id, packet);
  packets_.give_back(packet_id);
}

void Network::reach(NodeId node, PacketId packet) {
  const auto nics = static_cast<NodeId>(ports_.nics());
  if (node < nics) {
    deliver(node, packet);
  } else {
    forward(node - nics, packet);
  }
}

// Ends a packet like IP's TTL. Switches in silent_switches, and a switch that has just replied,
// send no ICMP.
void Network::expire(uint32_t switch_index, PacketId id) {
  if (now_ >= may_answer_at_[switch_index]) {
    may_answer_at_[switch_index] = now_ + options_.time_exceeded_apart;
    const auto node = static_cast<NodeId>(ports_.nics() + switch_index);
    answer(node, packets_[id], PacketKind::kTimeExceeded, 0);
  }
  discard(id, Fate::kHopLimit);
}

void Network::forward(uint32_t switch_index, PacketId id) {
  if (packets_[id].hop_limit > 0 && --packets_[id].hop_limit == 0) return expire(switch_index, id);
  const LinkId link = forwarding_.next_link(now_, switch_index, packets_[id]);
  if (link == kNoIndex) return discard(id, Fate::kNoRoute);
  offer(link, id);
}

void Network::deliver(NicId nic, PacketId id) {
  const Packet& packet = packets_[id];
  if (packet.to_nic != nic) return discard(id, Fate::kNoRoute);
  if (ports_.down(nic)) return discard(id, Fate::kHostDown);
  if (packet.payload_corrupt) return discard(id, Fate::kChecksumDropped);
  const bool datagram = packet.kind == PacketKind::kDatagram || packet.kind == PacketKind::kTrimmed;
  if (packet.header_corrupt && (!datagram || !options_.deliver_corrupt_headers)) {
    return discard(id, Fate::kChecksumDropped);
  }
  for (const NicPorts::Attached& each : ports_.of(nic)) {
    if (each.port == packet.to_port) return each.receiver->handle_packet(id);
    if (each.sends_from(packet.to_port)) {
      // ICMP for a sent packet returns to the port that sent it
      if (!datagram) return each.receiver->handle_packet(id);
      return discard(id, Fate::kUnread);
    }
  }
  answer(nic, packet, PacketKind::kRefused, 0);
  discard(id, Fate::kRefused);
}

// Sends an ICMP message about a packet from `node` to its sender. ICMP never answers ICMP.
void Network::answer(NodeId node, const Packet& packet, PacketKind kind, uint32_t limit_bytes) {
  if (!options_.reports_errors || packet.kind != PacketKind::kDatagram) {
    return;
  }
  // For time exceeded the router's address; for all kinds the first bytes of the packet.
  std::array<std::byte, Packet::kRouterBytes + Packet::kQuotedBytes> quote{};
  const NicId from = packet.to_nic;
  const NicId to = packet.from_nic;
  const uint16_t from_port = packet.to_port;
  const uint16_t to_port = packet.from_port;
  const uint16_t path = packet.path;
  if (kind == PacketKind::kTimeExceeded) {
    const auto router = router_address(node - static_cast<NodeId>(ports_.nics()));
    std::memcpy(quote.data(), router.data(), router.size());
  }
  std::memcpy(quote.data() + Packet::kRouterBytes, packets_.bytes(packet),
              std::min<size_t>(PacketStore::real_bytes(packet), Packet::kQuotedBytes));
  const auto bytes = static_cast<uint16_t>(quote.size());
  const PacketId id = packets_.lend(bytes, 0, transport::kNoRegion, 0);
  Packet& told = packets_[id];
  told.kind = kind;
  told.limit_bytes = limit_bytes;
  told.from_nic = from;
  told.to_nic = to;
  told.from_port = from_port;
  told.to_port = to_port;
  told.path = path;
  std::memcpy(packets_.bytes(told), quote.data(), bytes);
  const auto nics = static_cast<NodeId>(ports_.nics());
  if (node == to) {
    told.node = node;
    events_.push(now_, EventKind::kPacket, id);
  } else if (node < nics) {
    offer(egress(node), id);
  } else {
    forward(node - nics, id);
  }
}

void Network::discard(PacketId id, Fate fate) {
  count(fate, digest(packets_[id]));
  packets_.give_back(id);
}

}  // namespace heddle::simulator
