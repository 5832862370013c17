// Arbitration, replies and timeouts of a RoCE NIC: see nic.h.
#include "simulator/roce/nic.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator::roce {

RoceNic::RoceNic(Network& network, NicId nic, const RoceOptions& options, NicUser& user)
    : network_(network),
      nic_(nic),
      options_(options),
      user_(user),
      agent_(network.add_agent(*this)),
      timer_(*this),
      timer_agent_(network.add_agent(timer_)) {
  network_.attach(nic_, kPort, *this);
}

RoceNic::~RoceNic() {
  network_.detach(nic_, kPort);
  network_.remove_agent(timer_agent_);
  network_.remove_agent(agent_);
}

uint32_t RoceNic::add_responder(const QueuePairAddress& back) {
  responders_.push_back({{}, back});
  return static_cast<uint32_t>(responders_.size() - 1);
}

uint32_t RoceNic::add_requester(const QueuePairAddress& address) {
  requesters_.emplace_back(address, options_, network_.egress_shape(nic_).rate);
  is_active_.push_back(0);
  return static_cast<uint32_t>(requesters_.size() - 1);
}

void RoceNic::post(uint32_t requester, const Message& message) {
  requesters_[requester].post(message);
  activate(requester);
  network_.schedule(agent_, network_.now());
}

void RoceNic::activate(uint32_t requester) {
  if (is_active_[requester] != 0 || !requesters_[requester].has_packet()) return;
  is_active_[requester] = 1;
  active_.push_back(requester);
}

void RoceNic::run(Nanos /*now*/) { send_ready(); }

// Sends until the NIC is full, or rates permit no further packet now.
void RoceNic::send_ready() {
  const Nanos now = network_.now();
  while (!active_.empty()) {
    Nanos earliest = Nanos::never();
    const size_t place = next_ready(now, earliest);
    if (place == active_.size()) return network_.schedule(agent_, earliest);
    if (!network_.may_send(nic_, *this)) return;  // calls handle_room()
    Requester& requester = requesters_[active_[place]];
    turn_ = place + 1;
    if (requester.has_packet()) {
      requester.send(network_);
      set_timer(requester.timeout_at());
    }
    if (requester.has_packet()) continue;
    is_active_[active_[place]] = 0;
    active_.erase(active_.begin() + static_cast<int64_t>(place));
    turn_ = place;
  }
}

// The first from turn_ on that may send now; else the number of active ones, and `earliest` is when
// one may.
size_t RoceNic::next_ready(Nanos now, Nanos& earliest) const {
  for (size_t i = 0; i < active_.size(); ++i) {
    const size_t place = (turn_ + i) % active_.size();
    const Requester& requester = requesters_[active_[place]];
    if (requester.next_at() <= now || !requester.has_packet()) return place;
    earliest = std::min(earliest, requester.next_at());
  }
  return active_.size();
}

void RoceNic::handle_packet(PacketId id) {
  PacketStore& packets = network_.packets();
  const Packet& packet = packets[id];
  const Header header = read_header(packets, packet);
  // A packet that a switch has trimmed means nothing to a RoCE NIC.
  const bool known = packet.kind == PacketKind::kDatagram;
  const Nanos now = network_.now();
  const auto on_done = [this](uint32_t flow) { user_.handle_acked(flow); };
  if (known && header.opcode == Opcode::kSend) {
    handle_send(packet, header);
  } else if (known) {
    Requester& requester = requesters_[header.queue_pair];
    if (header.opcode == Opcode::kCnp) requester.handle_cnp(now);
    if (header.opcode == Opcode::kAck) requester.handle_ack(now, header.packet_number, on_done);
    if (header.opcode == Opcode::kNak) {
      requester.handle_nak(now, header.packet_number, on_done);
      activate(header.queue_pair);
      network_.schedule(agent_, now);
    }
  }
  packets.give_back(id);
}

void RoceNic::handle_send(const Packet& packet, const Header& header) {
  Received& received = responders_[header.queue_pair];
  received.responder.note_order(packet.write.chunk);
  const bool marked = packet.ecn == transport::Ecn::kCongestion;
  const Responder::Verdict verdict =
      received.responder.handle(network_.now(), header, marked, options_.congestion.cnp_interval);
  if (verdict.cnp && options_.dcqcn) reply(received, Opcode::kCnp);
  if (verdict.nak) reply(received, Opcode::kNak);
  if (verdict.ack) reply(received, Opcode::kAck);
  if (!verdict.place) return;
  user_.handle_arrived(packet.write.immediate, packet.content_at,
                       {packet.content, packet.content_at, packet.payload_bytes}, header.last);
}

void RoceNic::reply(const Received& received, Opcode opcode) {
  const uint16_t bytes = opcode == Opcode::kCnp ? kCnpHeaderBytes : kAckHeaderBytes;
  PacketStore& packets = network_.packets();
  const PacketId id = packets.lend(bytes, 0, transport::kNoRegion, 0);
  Packet& packet = packets[id];
  packet.from_nic = received.back.from;
  packet.to_nic = received.back.to;
  packet.from_port = received.back.source_port;
  packet.to_port = kPort;
  write_header(packets, packet,
               {.queue_pair = received.back.peer,
                .opcode = opcode,
                .packet_number = received.responder.expected()});
  network_.send(id);
}

// Times of timeouts only grow while acknowledgements arrive, so the timer may be early.
void RoceNic::set_timer(Nanos at) {
  if (at >= timer_at_) return;
  timer_at_ = at;
  network_.schedule(timer_agent_, at);
}

void RoceNic::check_timeouts(Nanos now) {
  timer_at_ = Nanos::never();
  Nanos next = Nanos::never();
  for (uint32_t i = 0; i < requesters_.size(); ++i) {
    Requester& requester = requesters_[i];
    if (requester.timeout_at() <= now) {
      if (requester.handle_timeout(now)) {
        activate(i);
      } else {
        ++queue_pairs_failed_;
        requester.take_unfinished([this](uint32_t flow) { user_.handle_failed(flow); });
      }
    }
    next = std::min(next, requester.timeout_at());
  }
  if (next != Nanos::never()) set_timer(next);
  network_.schedule(agent_, now);
}

void RoceNic::add_statistics(transport::ConnectionStatistics& sum) const {
  for (const Requester& requester : requesters_) {
    const RequesterCounts& counts = requester.counts();
    sum.payload_bytes_sent += counts.bytes;
    sum.payload_bytes_retransmitted += counts.bytes_retransmitted;
    sum.payload_bytes_acked += counts.bytes_acked;
    sum.segments_sent += counts.packets;
    sum.segments_retransmitted += counts.packets_retransmitted;
    sum.acks_received += counts.acks;
    sum.congestion_marks += counts.cnps;
  }
  if (!requesters_.empty()) sum.segment_bytes = std::max(sum.segment_bytes, options_.mtu_bytes);
}

void RoceNic::add_counters(RoceCounters& sum) const {
  for (const Requester& requester : requesters_) {
    sum.naks += requester.counts().naks;
    sum.timeouts += requester.counts().timeouts;
    sum.cnps += requester.counts().cnps;
  }
  for (const Received& received : responders_) {
    sum.discarded += received.responder.discarded();
    sum.reordered += received.responder.reordered();
  }
  sum.queue_pairs_failed += queue_pairs_failed_;
}

}  // namespace heddle::simulator::roce
