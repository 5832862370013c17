// See roce_flows.h.
#include "recordings/capture/roce_flows.h"

#include <algorithm>

#include "recordings/params.h"

namespace heddle::recordings {
namespace {

// Numbers have 24 bits; those before the first one of a flow must not be negative.
constexpr uint64_t kNumbers = uint64_t{1} << 24;
// The smallest path MTU, which makes most packets of a read response.
constexpr uint64_t kLeastMtu = 256;

constexpr size_t kOperations = 3;
constexpr const char* kServiceNames[] = {"RC", "UC", "UD", "XRC"};
constexpr const char* kOperationNames[kOperations] = {"send", "write", "read response"};

size_t class_of(const RocePacket& packet) {
  return static_cast<size_t>(packet.service) * kOperations + static_cast<size_t>(packet.operation);
}

bool is_response(RoceOperation operation) { return operation == RoceOperation::kReadResponse; }

// The full number whose low 24 bits these are, nearest to the highest one so far.
uint64_t unwrap(uint32_t low, const NumberTrack& track) {
  if (!track.begun()) return kNumbers + low;
  const uint64_t ahead = (low - track.highest()) & (kNumbers - 1);
  return ahead < kNumbers / 2 ? track.highest() + ahead : track.highest() + ahead - kNumbers;
}

bool jumps(uint64_t number, const NumberTrack& track) {
  if (!track.begun()) return false;
  const uint64_t highest = track.highest();
  return number > highest ? number - highest > params::capture::kRestartJump
                          : highest - number > params::capture::kRestartJump;
}

}  // namespace

std::vector<TrafficCounter> RoceFlows::make_classes() {
  std::vector<TrafficCounter> classes;
  for (const char* service : kServiceNames) {
    for (const char* operation : kOperationNames) {
      classes.emplace_back(std::string("RoCE ") + service + " " + operation,
                           "destination queue pair");
    }
  }
  return classes;
}

void RoceFlows::add(Nanos at, const UdpDatagram& datagram) {
  ++counts_.packets;
  if (datagram.marked) ++counts_.marked;
  RocePacket packet;
  switch (read_roce(datagram.payload, datagram.payload_bytes, packet)) {
    case RoceRead::kCut:
      ++counts_.cut;
      return;
    case RoceRead::kMalformed:
      ++counts_.malformed;
      return;
    case RoceRead::kRead:
      break;
  }
  if (packet.operation <= RoceOperation::kReadResponse) {
    add_message_packet(at, datagram, packet);
  } else {
    add_other(packet, datagram);
  }
}

RoceFlows::Flow* RoceFlows::flow_of(const RocePacket& packet, const UdpDatagram& datagram) {
  const Key key{datagram.from, datagram.to, packet.queue_pair, packet.source_queue_pair,
                is_response(packet.operation)};
  if (const auto at = flows_.find(key); at != flows_.end()) return &at->second;
  if (flows_.size() < kMostFlows) return &flows_[key];
  ++counts_.not_followed;
  return nullptr;
}

void RoceFlows::add_message_packet(Nanos at, const UdpDatagram& datagram,
                                   const RocePacket& packet) {
  const size_t of = class_of(packet);
  classes_[of].add_packet(at, packet.payload_bytes);
  if (Flow* const flow = flow_of(packet, datagram)) follow(*flow, packet, of);
}

void RoceFlows::follow(Flow& flow, const RocePacket& packet, size_t of) {
  TrafficClass& counts = classes_[of].counts();
  if ((flow.counted >> of & 1) == 0) {
    flow.counted |= uint64_t{1} << of;
    ++counts.flows;
  }
  flow.last_class = of;
  uint64_t number = unwrap(packet.number, flow.track);
  if (jumps(number, flow.track)) {
    flow.pieces.flush();
    flow.track.restart();
    number = unwrap(packet.number, flow.track);
  }
  // A response begins where its request says: what is missing before it belongs to requests.
  const bool anywhere = is_response(packet.operation) && packet.begins;
  const Arrival arrival = flow.track.see(number, anywhere ? kNumbers : flow.may_skip);
  flow.may_skip = 0;
  if (arrival == Arrival::kLate) ++counts.late_packets;
  if (arrival == Arrival::kRepeated) {
    ++counts.repeated_packets;
    return;
  }
  const auto message =
      flow.pieces.add({number, packet.begins, packet.ends, packet.payload_bytes, packet.dma_bytes});
  if (!message) return;
  classes_[of].add_message(message->bytes, message->packets);
  if (message->declared_bytes && *message->declared_bytes != message->bytes) ++counts.other_lengths;
}

void RoceFlows::add_other(const RocePacket& packet, const UdpDatagram& datagram) {
  switch (packet.operation) {
    case RoceOperation::kReadRequest:
    case RoceOperation::kAtomic: {
      const uint64_t bytes = packet.dma_bytes.value_or(0);
      if (packet.operation == RoceOperation::kAtomic) {
        ++counts_.atomics;
      } else {
        counts_.read_requests.add(bytes);
      }
      Flow* const flow = flow_of(packet, datagram);
      if (flow == nullptr) return;
      const uint64_t number = unwrap(packet.number, flow->track);
      if (jumps(number, flow->track)) return;
      flow->track.see(number, flow->may_skip);
      flow->may_skip = std::max<uint64_t>(1, (bytes + kLeastMtu - 1) / kLeastMtu) - 1;
      return;
    }
    case RoceOperation::kAck: {
      const uint8_t syndrome = packet.syndrome.value_or(0);
      const unsigned kind = syndrome >> 5 & 3;
      if (kind == 0) ++counts_.acks;
      if (kind == 1) ++counts_.receiver_not_ready;
      if (kind >= 2) ++counts_.naks[std::min<size_t>(syndrome & 0x1f, kNakKinds - 1)];
      return;
    }
    case RoceOperation::kCongestion:
      ++counts_.congestion_notifications;
      return;
    case RoceOperation::kAtomicAck:
      ++counts_.acks;
      return;
    default:
      ++counts_.other_opcodes;
      return;
  }
}

void RoceFlows::finish(CaptureSizes& sizes) {
  for (auto& [key, flow] : flows_) {
    if (flow.counted == 0) continue;  // requests without messages
    flow.pieces.flush();
    TrafficCounter& of = classes_[flow.last_class];
    of.counts().incomplete_messages += flow.pieces.incomplete();
    of.add_gaps(flow.track);
  }
  for (const TrafficCounter& each : classes_) {
    if (each.counts().packets > 0) sizes.classes.push_back(each.counts());
  }
  sizes.roce = counts_;
}

}  // namespace heddle::recordings
