// ReceiveQueue: see receive_queue.h.
#include "simulator/datapath/receive_queue.h"

#include <algorithm>
#include <cstring>

namespace heddle::simulator {

using transport::kDataHeaderBytes;
using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;

ReceiveQueue::~ReceiveQueue() {
  while (first_ != kNoIndex) {
    const PacketId next = network_.packets()[first_].next;
    network_.packets().give_back(first_);
    first_ = next;
  }
}

bool ReceiveQueue::push(PacketId id) {
  PacketStore& packets = network_.packets();
  Packet& packet = packets[id];
  if (bytes_ + packet.datagram_bytes() > options_.receive_capacity.count) return false;
  packet.arrives_at = network_.now();
  packet.next = kNoIndex;
  if (first_ == kNoIndex) {
    first_ = id;
  } else {
    packets[last_].next = id;
  }
  last_ = id;
  ++packets_;
  bytes_ += packet.datagram_bytes();
  return true;
}

void ReceiveQueue::poison_frames() {
  if (!frames_.empty()) std::memset(frames_.data(), 0xdd, std::min<size_t>(frames_.size(), 4'096));
}

// --- runs ---

// The number of packets at the head of the queue that form one run.
uint32_t ReceiveQueue::run_length() const {
  if (!options_.coalesces) return 1;
  const PacketStore& packets = network_.packets();
  const Packet& first = packets[first_];
  const Packet* last = &first;
  uint32_t length = 1;
  uint32_t bytes = first.datagram_bytes();
  while (last->next != kNoIndex && length < transport::kMaxBurstSegments) {
    const Packet& next = packets[last->next];
    bytes += next.datagram_bytes();
    if (bytes > params::kRunBytesMax || !continues_run(first, *last, next)) break;
    last = &next;
    ++length;
  }
  return length;
}

// How many of them have the first one's type: only those may be taken from a predicted place.
uint32_t ReceiveQueue::alike_length(uint32_t length) const {
  const PacketStore& packets = network_.packets();
  const std::byte kind = packets.bytes(packets[first_])[0];
  PacketId id = first_;
  for (uint32_t i = 0; i < length; ++i, id = packets[id].next) {
    if (packets.bytes(packets[id])[0] != kind) return i;
  }
  return length;
}

bool ReceiveQueue::continues_run(const Packet& first, const Packet& last,
                                 const Packet& next) const {
  if (first.kind != PacketKind::kDatagram || next.kind != first.kind) return false;
  if (next.from_nic != first.from_nic || next.from_port != first.from_port) return false;
  if (next.to_nic != first.to_nic) return false;
  if (next.ecn != first.ecn || last.datagram_bytes() != first.datagram_bytes()) return false;
  if (next.datagram_bytes() > first.datagram_bytes()) return false;
  if (next.arrives_at - first.arrives_at > options_.coalesces_within) return false;
  if (next.is_virtual() != first.is_virtual()) return false;
  if (!next.is_virtual()) return true;
  // A run of virtual payload needs equal header sizes; packets other than data segments come alone.
  const bool data = first.header_bytes == kDataHeaderBytes ||
                    first.header_bytes == kDataHeaderBytes + transport::kTagBytes;
  if (!data || next.header_bytes != first.header_bytes) return false;
  return (next.content == last.content && next.content_at == last.content_at + last.payload_bytes);
}

uint64_t ReceiveQueue::take_run(RxRun& run, const Prediction* prediction) {
  uint32_t length = run_length();
  const Packet& first = front();
  run = RxRun();
  run.from = address_of(first.from_nic, first.from_port);
  run.ecn = options_.ecn ? first.ecn : transport::Ecn::kNotCapable;
  run.segment_bytes = first.datagram_bytes();
  run.trimmed = first.kind == PacketKind::kTrimmed;
  const uint32_t alike = prediction != nullptr ? alike_length(length) : 0;
  const bool placed = prediction != nullptr && options_.predicts &&
                      run.segment_bytes > prediction->header_bytes &&
                      place_predicted(alike, *prediction);
  if (placed) length = alike;
  run.segments = length;
  if (placed) {
    run.payload_at = PayloadAt::kPlaced;
    run.place = prediction->place;
    run.place.length = 0;
    run.header_bytes = prediction->header_bytes;
  } else if (first.is_virtual()) {
    run.payload_at = PayloadAt::kVirtual;
    run.place = {first.content, first.content_at, 0};
    run.header_bytes = first.header_bytes;
  }
  uint64_t behind_headers = 0;
  for (uint32_t i = 0; i < length; ++i) behind_headers += take_packet(run);
  return placed ? behind_headers : 0;
}

// The oldest one, as part of the run. Returns the bytes behind its header.
uint64_t ReceiveQueue::take_packet(RxRun& run) {
  PacketStore& packets = network_.packets();
  const PacketId id = first_;
  const Packet& packet = packets[id];
  const uint32_t bytes = packet.datagram_bytes();
  run.last_segment_bytes = bytes;
  run.received_at =
      (options_.timestamps ? packet.arrives_at : network_.now()) + options_.clock_offset;
  const uint32_t behind_header = bytes - std::min(bytes, run.header_bytes);
  const bool whole = run.payload_at == PayloadAt::kFrame;
  append_frame(packet, whole ? bytes : bytes - behind_header);
  run.place.length += whole ? 0 : behind_header;
  first_ = packet.next;
  if (first_ == kNoIndex) last_ = kNoIndex;
  --packets_;
  bytes_ -= bytes;
  packets.give_back(id);
  return behind_header;
}

void ReceiveQueue::append_frame(const Packet& packet, uint32_t bytes) {
  const std::byte* from = network_.packets().bytes(packet);
  frames_.insert(frames_.end(), from, from + bytes);
}

// --- predicted places ---

// Puts the payload of the first `length` packets into the predicted place; false if the prediction
// is wrong.
bool ReceiveQueue::place_predicted(uint32_t length, const Prediction& prediction) {
  const PacketStore& packets = network_.packets();
  const Packet& first = packets[first_];
  const std::byte* header = packets.bytes(first);
  bool matches = fits(length, prediction);
  for (uint32_t i = 0; matches && i < kDataHeaderBytes; ++i) {
    matches = ((header[i] ^ prediction.header[i]) & prediction.mask[i]) == std::byte{0};
  }
  const transport::Payload& place = prediction.place;
  if (!matches) {
    const uint64_t step = first.datagram_bytes() - prediction.header_bytes;
    if (options_.scribbles) {
      memory_.scribble({place.region, place.offset, std::min(place.length, length * step)});
    }
    return false;
  }
  const bool named = first.is_virtual();
  uint64_t at = place.offset;
  PacketId id = first_;
  for (uint32_t i = 0; i < length; ++i, id = packets[id].next) {
    const Packet& packet = packets[id];
    const uint32_t bytes =
        packet.datagram_bytes() - std::min(packet.datagram_bytes(), prediction.header_bytes);
    if (named) {
      memory_.write(place.region, at, {packet.content, packet.content_at, bytes});
    } else if (bytes > 0) {
      std::memcpy(memory_.resolve({place.region, at, bytes}),
                  packets.bytes(packet) + prediction.header_bytes, bytes);
    }
    at += bytes;
  }
  memory_.report_write({place.region, place.offset, at - place.offset}, false);
  return true;
}

// True if the run has the predicted step, there is room, and bytes and place are of the same kind.
bool ReceiveQueue::fits(uint32_t length, const Prediction& prediction) const {
  const Packet& first = front();
  if (first.is_virtual() != is_virtual(prediction.place.region)) return false;
  if (first.is_virtual() && first.header_bytes != prediction.header_bytes) return false;
  const uint32_t step = first.datagram_bytes() - prediction.header_bytes;
  if (step > prediction.payload_bytes || (length > 1 && step != prediction.payload_bytes)) {
    return false;
  }
  return uint64_t{length} * step <= prediction.place.length;
}

}  // namespace heddle::simulator
