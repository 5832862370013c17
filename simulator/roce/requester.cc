// The sending half of a queue pair: see requester.h.
#include "simulator/roce/requester.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator::roce {

void Requester::post(const Message& message) {
  CHECK(!failed_);
  // An empty message is one packet.
  const uint64_t packets =
      std::max<uint64_t>((message.bytes + options_.mtu_bytes - 1) / options_.mtu_bytes, 1);
  posted_.push_back({message, end_, packets});
  end_ += packets;
}

void Requester::send(Network& network) {
  const Nanos now = network.now();
  while (next_ >= posted_[current_].first + posted_[current_].packets) ++current_;
  const Posted& posted = posted_[current_];
  const uint64_t offset = (next_ - posted.first) * options_.mtu_bytes;
  const auto bytes =
      static_cast<uint32_t>(std::min<uint64_t>(posted.message.bytes - offset, options_.mtu_bytes));
  const bool last = offset + bytes == posted.message.bytes;
  PacketStore& packets = network.packets();
  const PacketId id = packets.lend(kSendHeaderBytes, bytes, posted.message.region, offset);
  Packet& packet = packets[id];
  packet.from_nic = address_.from;
  packet.to_nic = address_.to;
  packet.from_port = address_.source_port;
  packet.to_port = kPort;
  packet.ecn = transport::Ecn::kEct0;
  packet.write.immediate = posted.message.flow;
  packet.write.chunk = static_cast<uint32_t>(counts_.packets);
  write_header(packets, packet,
               {.queue_pair = address_.peer,
                .opcode = Opcode::kSend,
                .last = last,
                .wants_ack = last || next_ % params::kPacketsPerAck == 0,
                .packet_number = next_});
  ++counts_.packets;
  counts_.bytes += bytes;
  if (next_ < sent_) {
    ++counts_.packets_retransmitted;
    counts_.bytes_retransmitted += bytes;
  }
  if (unacked_ == next_) progress_at_ = now;
  ++next_;
  sent_ = std::max(sent_, next_);
  const uint32_t wire_bytes = packet.wire_bytes();
  if (options_.dcqcn) congestion_.on_sent(now, wire_bytes);
  next_at_ = now + transmit_time({wire_bytes}, rate(now));
  network.send(id);
}

// True: packets were confirmed.
bool Requester::advance(Nanos now, uint64_t expected) {
  if (expected <= unacked_ || failed_) return false;
  CHECK(expected <= sent_);
  unacked_ = expected;
  next_ = std::max(next_, expected);  // after a timeout, what had arrived needs no retransmission
  progress_at_ = now;
  timeouts_in_sequence_ = 0;
  return true;
}

void Requester::go_back(uint64_t to) {
  next_ = to;
  current_ = 0;
}

void Requester::handle_cnp(Nanos now) {
  ++counts_.cnps;
  if (options_.dcqcn) congestion_.on_cnp(now);
}

bool Requester::handle_timeout(Nanos now) {
  ++counts_.timeouts;
  if (timeouts_in_sequence_++ >= options_.retries) {
    failed_ = true;
    next_ = end_ = unacked_;
    return false;
  }
  go_back(unacked_);
  progress_at_ = now;
  return true;
}

}  // namespace heddle::simulator::roce
