// Shared buffers, PFC and trimming: see outlets.h.
#include "simulator/outlets.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {

using topology::NodeKind;
using transport::Ecn;

namespace {

// With kWireOverheadBytes the smallest Ethernet frame with preamble and gap: 84 bytes.
constexpr uint16_t kPauseBytes = topology::kPauseFrameBytes - kWireOverheadBytes;

// Packets up to this size enter the header queue untrimmed, like acknowledgements and handshakes. A
// real switch recognizes those by DSCP; here they are the packets that are not ECN-capable.
constexpr uint32_t kTrimmedAbove = 2 * kTrimmedBytes;

bool is_to_be_cut(const Packet& packet) {
  return packet.ecn != Ecn::kNotCapable && packet.datagram_bytes() > kTrimmedAbove;
}

bool goes_with_headers(const Packet& packet) {
  return packet.kind == PacketKind::kDatagram || packet.kind == PacketKind::kTrimmed;
}

// The payload is gone, and with it any fault in it.
void trim(Packet& packet) {
  packet.kind = PacketKind::kTrimmed;
  packet.header_bytes = std::min(packet.header_bytes, kTrimmedBytes);
  packet.payload_bytes = 0;
  packet.content = transport::kNoRegion;
  packet.payload_corrupt = false;
}

const topology::Node& start_node(const topology::Topology& topology, LinkId link) {
  const topology::Link& cable = topology.links[link / 2];
  return link % 2 == 0 ? cable.a : cable.b;
}

const topology::Switch* switch_at(const topology::Topology& topology, const topology::Node& node) {
  return node.kind == NodeKind::kSwitch ? &topology.switches[node.index] : nullptr;
}

}  // namespace

Outlets::Outlets(const topology::Topology& topology, std::vector<Link>& links, PacketStore& packets,
                 EventQueue& events)
    : links_(links), packets_(packets), events_(events) {
  const auto shares = [](const topology::Switch& each) { return each.shape.buffer.count > 0; };
  const auto waits_here = [&](const topology::Switch& each) {
    return shares(each) || each.shape.trims;
  };
  if (std::none_of(topology.switches.begin(), topology.switches.end(), waits_here)) return;
  const std::vector<uint32_t> ports = switch_ports(topology);
  for (size_t i = 0; i < topology.switches.size(); ++i) {
    memory_of_.push_back(shares(topology.switches[i]) ? static_cast<uint32_t>(memories_.size())
                                                      : kNoIndex);
    if (memory_of_[i] != kNoIndex) memories_.emplace_back(topology.switches[i].shape, ports[i]);
  }
  outlet_of_.resize(2 * topology.links.size(), kNoIndex);
  inlet_of_.resize(2 * topology.links.size(), kNoIndex);
  for (LinkId id = 0; id < outlet_of_.size(); ++id) {
    const topology::Node& start = start_node(topology, id);
    const topology::Node& end = start_node(topology, id ^ 1);
    const topology::Switch* const from = switch_at(topology, start);
    const topology::Switch* const to = switch_at(topology, end);
    const bool lossless_end = to != nullptr && to->shape.lossless;
    if (from != nullptr && waits_here(*from)) {
      add_outlet(id, memory_of_[start.index]);
      outlets_.back().may_trim = from->shape.trims;
    } else if (from == nullptr && lossless_end) {
      add_outlet(id, kNoIndex);
    }
    if (has(id)) outlets_.back().shape = topology.links[id / 2].shape;
    if (!lossless_end) continue;
    inlet_of_[id] = static_cast<uint32_t>(inlets_.size());
    inlets_.push_back(
        {.limits = pause_limits(to->shape, ports[end.index], topology.links[id / 2].shape)});
  }
}

void Outlets::add_outlet(LinkId link, uint32_t memory) {
  outlet_of_[link] = static_cast<uint32_t>(outlets_.size());
  outlets_.emplace_back().memory = memory;
}

Link::Verdict Outlets::offer(Nanos now, LinkId link, PacketId id, bool unbounded, Random& random) {
  if (links_[link].down()) return Link::Verdict::kDown;
  Outlet& outlet = outlets_[outlet_of_[link]];
  Packet& packet = packets_[id];
  const uint32_t bytes = packet.wire_bytes();
  if (outlet.may_trim && packet.kind == PacketKind::kTrimmed) return offer_header(now, link, id);
  if (!unbounded && outlet.leaves_at == now) {
    handle_left(now, link);  // its kLeft event may come after this one
  }
  if (!takes(outlet, bytes, unbounded)) {
    if (outlet.may_trim && goes_with_headers(packet)) return offer_header(now, link, id);
    ++outlet.drops;
    return Link::Verdict::kFull;
  }
  if (outlet.memory != kNoIndex) memories_[outlet.memory].take(outlet.bytes, bytes);
  mark(outlet, packet, random);
  outlet.bytes += bytes;
  outlet.queued_max = std::max(outlet.queued_max, outlet.bytes);
  outlet.waiting.push_back(id);
  came(now, packet.came_by, bytes);
  send_next(now, link);
  return Link::Verdict::kTaken;
}

// `unbounded`: the queue is inside the sender.
bool Outlets::takes(const Outlet& outlet, uint32_t bytes, bool unbounded) const {
  if (outlet.memory != kNoIndex) return memories_[outlet.memory].takes(outlet.bytes, bytes);
  return unbounded || outlet.bytes + bytes <= outlet.shape.queue.count;
}

// For a packet that was trimmed before, that is trimmed now for want of room, or that is small.
Link::Verdict Outlets::offer_header(Nanos now, LinkId link, PacketId id) {
  Outlet& outlet = outlets_[outlet_of_[link]];
  Packet& packet = packets_[id];
  if (outlet.headers.size() >= kMostHeaders) {
    ++outlet.drops;
    return Link::Verdict::kFull;
  }
  const bool cut = is_to_be_cut(packet);
  if (cut) {
    trim(packet);
    ++outlet.trims;
  }
  outlet.headers.push_back(id);
  send_next(now, link);
  return cut ? Link::Verdict::kTrimmed : Link::Verdict::kTaken;
}

void Outlets::mark(Outlet& outlet, Packet& packet, Random& random) {
  const uint64_t threshold = outlet.shape.ecn_threshold.count;
  if (outlet.bytes <= threshold && threshold != 0) return;
  const bool capable = packet.ecn == Ecn::kEct0 || packet.ecn == Ecn::kEct1;
  if (!capable || !draws_mark(outlet.shape, outlet.bytes, random)) return;
  packet.ecn = Ecn::kCongestion;
  ++outlet.marks;
}

// kNoIndex: none. Stores in the outlet how the packet is accounted for.
PacketId Outlets::next_to_send(Outlet& outlet) {
  outlet.leaving_bytes = 0;
  outlet.leaving_came_by = kNoIndex;
  if (!outlet.frames.empty()) return outlet.frames.pop_front();
  if (outlet.paused) return kNoIndex;
  const bool others_turn = outlet.headers_in_a_row >= kHeadersInARow && !outlet.waiting.empty();
  if (!outlet.headers.empty() && !others_turn) {
    if (outlet.headers_in_a_row < kHeadersInARow) ++outlet.headers_in_a_row;
    return outlet.headers.pop_front();
  }
  outlet.headers_in_a_row = 0;
  if (outlet.waiting.empty()) return kNoIndex;
  const PacketId packet = outlet.waiting.pop_front();
  outlet.leaving_bytes = packets_[packet].wire_bytes();
  outlet.leaving_came_by = packets_[packet].came_by;
  return packet;
}

void Outlets::send_next(Nanos now, LinkId id) {
  Outlet& outlet = outlets_[outlet_of_[id]];
  if (outlet.leaves_at != Nanos::never()) return;
  const PacketId packet = next_to_send(outlet);
  if (packet == kNoIndex) return;
  Link& link = links_[id];
  const Nanos first_before = link.next_at();
  CHECK(link.offer(now, packet, packets_, true, unused_) == Link::Verdict::kTaken);
  if (link.next_at() != first_before) events_.push(link.next_at(), EventKind::kLink, id);
  outlet.leaves_at = link.free_at();
  events_.push(outlet.leaves_at, EventKind::kLeft, id);
}

// A rate change does not affect the packet in transmission; a cut-off packet leaves an obsolete
// event.
bool Outlets::handle_left(Nanos now, LinkId link) {
  Outlet& outlet = outlets_[outlet_of_[link]];
  if (outlet.leaves_at != now) return false;
  outlet.leaves_at = Nanos::never();
  left(now, outlet, outlet.leaving_bytes, outlet.leaving_came_by);
  send_next(now, link);
  return true;
}

void Outlets::came(Nanos now, LinkId by, uint32_t bytes) {
  if (by == kNoIndex || inlet_of_[by] == kNoIndex) return;
  Inlet& inlet = inlets_[inlet_of_[by]];
  inlet.bytes += bytes;
  if (inlet.pausing || inlet.bytes <= inlet.limits.xoff.count) return;
  inlet.pausing = true;
  send_frame(now, by, true);
}

void Outlets::left(Nanos now, Outlet& outlet, uint32_t bytes, LinkId came_by) {
  if (bytes == 0) return;
  if (outlet.memory != kNoIndex) memories_[outlet.memory].give_back(outlet.bytes, bytes);
  outlet.bytes -= bytes;
  if (came_by == kNoIndex || inlet_of_[came_by] == kNoIndex) return;
  Inlet& inlet = inlets_[inlet_of_[came_by]];
  inlet.bytes -= bytes;
  if (!inlet.pausing || inlet.bytes > inlet.limits.xon.count) return;
  inlet.pausing = false;
  send_frame(now, came_by, false);
}

// Uses the other direction of the inlet's cable.
void Outlets::send_frame(Nanos now, LinkId inlet, bool pause) {
  const LinkId back = inlet ^ 1;
  if (links_[back].down()) return;
  const PacketId id = packets_.lend(kPauseBytes, 0, transport::kNoRegion, 0);
  packets_[id].kind = pause ? PacketKind::kPause : PacketKind::kGoOn;
  packets_[id].lost = true;  // ends at the end of this link
  outlets_[outlet_of_[back]].frames.push_back(id);
  send_next(now, back);
}

void Outlets::handle_pause(Nanos now, LinkId link, const Packet& frame) {
  const LinkId stopped = link ^ 1;
  if (!has(stopped)) return;  // a switch without PFC
  Outlet& outlet = outlets_[outlet_of_[stopped]];
  const bool pause = frame.kind == PacketKind::kPause;
  if (outlet.paused == pause) return;
  outlet.paused = pause;
  if (pause) {
    ++outlet.pauses;
    outlet.paused_since = now;
  } else {
    outlet.paused_time += now - outlet.paused_since;
    send_next(now, stopped);
  }
}

// Both ends forget pauses in both directions of this cable: a lost resume frame would otherwise
// stop a sender forever.
void Outlets::cut_off(Nanos now, LinkId link, std::vector<PacketId>& packets) {
  if (outlet_of_.empty()) return;
  for (const LinkId each : {link, link ^ 1}) {
    if (inlet_of_[each] != kNoIndex) inlets_[inlet_of_[each]].pausing = false;
    if (!has(each)) continue;
    Outlet& paused = outlets_[outlet_of_[each]];
    if (!paused.paused) continue;
    paused.paused = false;
    paused.paused_time += now - paused.paused_since;
    if (each != link && !links_[each].down()) send_next(now, each);
  }
  if (!has(link)) return;
  Outlet& outlet = outlets_[outlet_of_[link]];
  if (outlet.leaves_at != Nanos::never()) {
    outlet.leaves_at = Nanos::never();
    left(now, outlet, outlet.leaving_bytes, outlet.leaving_came_by);
  }
  while (!outlet.waiting.empty()) {
    const PacketId id = outlet.waiting.pop_front();
    left(now, outlet, packets_[id].wire_bytes(), packets_[id].came_by);
    packets.push_back(id);
  }
  while (!outlet.frames.empty()) packets.push_back(outlet.frames.pop_front());
  while (!outlet.headers.empty()) packets.push_back(outlet.headers.pop_front());
}

void Outlets::add_counters(Nanos now, LinkId link, LinkCounters& counters) const {
  if (!has(link)) return;
  const Outlet& outlet = outlets_[outlet_of_[link]];
  counters.queue_drops = outlet.drops;
  counters.trims = outlet.trims;
  counters.marks = outlet.marks;
  counters.queued_bytes_max = std::max(outlet.queued_max, outlet.queued_earlier_max);
  counters.pauses = outlet.pauses;
  counters.paused_time = outlet.paused_time;
  if (outlet.paused) counters.paused_time += now - outlet.paused_since;
}

uint64_t Outlets::take_queue_peak(LinkId link) {
  Outlet& outlet = outlets_[outlet_of_[link]];
  const uint64_t peak = outlet.queued_max;
  outlet.queued_earlier_max = std::max(outlet.queued_earlier_max, peak);
  outlet.queued_max = outlet.bytes;
  return peak;
}

uint64_t Outlets::shared_room(LinkId link) const {
  if (!has(link)) return 0;
  const uint32_t memory = outlets_[outlet_of_[link]].memory;
  return memory == kNoIndex ? 0 : memories_[memory].bytes();
}

uint64_t Outlets::memory_used_max(uint32_t switch_index) const {
  const bool none = memory_of_.empty() || memory_of_[switch_index] == kNoIndex;
  return none ? 0 : memories_[memory_of_[switch_index]].used_max();
}

}  // namespace heddle::simulator
