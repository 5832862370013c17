// Receiving on the simulated datapath: a bounded queue, runs of datagrams that arrived together,
// predicted places.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

using transport::kDataHeaderBytes;
using transport::NetworkErrorKind;
using transport::PayloadAt;
using transport::Prediction;
using transport::RxRun;

namespace {

constexpr uint32_t kRunBytesMax = 65'000;    // like GRO's
constexpr size_t kFrameBytesMax = 1u << 20;  // ends a batch

}  // namespace

void SimDatapath::handle_packet(PacketId id) {
  PacketStore& packets = network_.packets();
  Packet& packet = packets[id];
  if (packet.kind == PacketKind::kRefused || packet.kind == PacketKind::kTooLarge ||
      packet.kind == PacketKind::kTimeExceeded) {
    transport::NetworkError error;
    error.kind = packet.kind == PacketKind::kRefused    ? NetworkErrorKind::kRefused
                 : packet.kind == PacketKind::kTooLarge ? NetworkErrorKind::kTooLarge
                                                        : NetworkErrorKind::kTimeExceeded;
    error.to = address_of(packet.from_nic, packet.from_port);
    error.path = packet.path;
    error.limit_bytes = packet.limit_bytes;
    const std::byte* bytes = packets.bytes(packet);
    std::memcpy(error.router.data(), bytes, Packet::kRouterBytes);
    std::memcpy(error.quoted.data(), bytes + Packet::kRouterBytes, Packet::kQuotedBytes);
    error.quoted_bytes = Packet::kQuotedBytes;
    push_error(error);
    packets.give_back(id);
    return;
  }
  if (packet.kind == PacketKind::kWrite) return handle_write(id);
  if (packet.kind == PacketKind::kWriteAck) {
    chunk_sender_.handle_ack(packet);
    packets.give_back(id);
    return;
  }
  if (received_bytes_ + packet.datagram_bytes() > options_.receive_capacity.count) {
    ++statistics_.dropped_at_receive;
    network_.count(Fate::kReceiveQueueFull, packet.datagram_bytes());
    packets.give_back(id);
    return;
  }
  packet.arrives_at = network_.now();
  packet.next = kNoIndex;
  if (first_ == kNoIndex) {
    first_ = id;
  } else {
    packets[last_].next = id;
  }
  last_ = id;
  ++received_;
  received_bytes_ += packet.datagram_bytes();
  ++statistics_.datagrams_received;
  if (wakeup_ != nullptr) wakeup_->handle_ready();
}

size_t SimDatapath::receive(datapath::RxBatch& batch, const Prediction* prediction) {
  const Inside inside(call_observer_);
  CHECK(!lent_);
  ++statistics_.receive_calls;
  batch.count = 0;
  batch.event_count = 0;
  frames_.clear();
  std::array<size_t, datapath::RxBatch::kMaxRuns> starts;
  if (silent_) return 0;
  while (first_ != kNoIndex && batch.count < batch.runs.size() && frames_.size() < kFrameBytesMax) {
    starts[batch.count] = frames_.size();
    take_run(run_length(first_), batch.runs[batch.count], prediction);
    prediction = nullptr;  // it applies to the next run only
    ++batch.count;
  }
  for (size_t i = 0; i < batch.count; ++i) batch.runs[i].frame = frames_.data() + starts[i];
  while (!events_.empty() && batch.event_count < batch.events.size()) {
    batch.events[batch.event_count++] = events_.pop_front();
  }
  lent_ = batch.count + batch.event_count > 0;
  return batch.count;
}

void SimDatapath::release(datapath::RxBatch& batch) {
  const Inside inside(call_observer_);
  // Reveals use of a frame after its release.
  if (!frames_.empty()) std::memset(frames_.data(), 0xdd, std::min<size_t>(frames_.size(), 4'096));
  lent_ = false;
  batch.count = batch.event_count = 0;
}

// The number of packets at the head of the queue that form one run.
uint32_t SimDatapath::run_length(PacketId first_id) const {
  if (!options_.coalesces) return 1;
  const PacketStore& packets = network_.packets();
  const Packet& first = packets[first_id];
  const Packet* last = &first;
  uint32_t length = 1;
  uint32_t bytes = first.datagram_bytes();
  while (last->next != kNoIndex && length < transport::kMaxBurstSegments) {
    const Packet& next = packets[last->next];
    bytes += next.datagram_bytes();
    if (bytes > kRunBytesMax || !continues_run(first, *last, next)) break;
    last = &next;
    ++length;
  }
  return length;
}

// How many of them have the first one's type: only those may be taken from a predicted place.
uint32_t SimDatapath::alike_length(uint32_t length) const {
  const PacketStore& packets = network_.packets();
  const std::byte kind = packets.bytes(packets[first_])[0];
  PacketId id = first_;
  for (uint32_t i = 0; i < length; ++i, id = packets[id].next) {
    if (packets.bytes(packets[id])[0] != kind) return i;
  }
  return length;
}

bool SimDatapath::continues_run(const Packet& first, const Packet& last, const Packet& next) const {
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

void SimDatapath::take_run(uint32_t length, RxRun& run, const Prediction* prediction) {
  PacketStore& packets = network_.packets();
  const Packet& first = packets[first_];
  run = RxRun();
  run.from = address_of(first.from_nic, first.from_port);
  run.nic = number_of(first.to_nic);
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
  for (uint32_t i = 0; i < length; ++i) {
    const PacketId id = first_;
    const Packet& packet = packets[id];
    const uint32_t bytes = packet.datagram_bytes();
    run.last_segment_bytes = bytes;
    run.received_at =
        (options_.timestamps ? packet.arrives_at : network_.now()) + options_.clock_offset;
    const uint32_t behind_header = bytes - std::min(bytes, run.header_bytes);
    const bool whole = run.payload_at == PayloadAt::kFrame;
    append_frames(packet, whole ? bytes : bytes - behind_header);
    run.place.length += whole ? 0 : behind_header;
    statistics_.payload_placed_bytes += placed ? behind_header : 0;
    first_ = packet.next;
    if (first_ == kNoIndex) last_ = kNoIndex;
    --received_;
    received_bytes_ -= bytes;
    packets.give_back(id);
  }
}

void SimDatapath::append_frames(const Packet& packet, uint32_t bytes) {
  const std::byte* from = network_.packets().bytes(packet);
  frames_.insert(frames_.end(), from, from + bytes);
}

// Puts the payload of the first `length` packets into the predicted place; false if the prediction
// is wrong.
bool SimDatapath::place_predicted(uint32_t length, const Prediction& prediction) {
  const PacketStore& packets = network_.packets();
  const Packet& first = packets[first_];
  const std::byte* header = packets.bytes(first);
  bool matches = fits(length, prediction);
  for (uint32_t i = 0; matches && i < kDataHeaderBytes; ++i) {
    matches = ((header[i] ^ prediction.header[i]) & prediction.mask[i]) == std::byte{0};
  }
  if (!matches) {
    if (options_.scribbles) scribble(length, prediction);
    return false;
  }
  const bool named = first.is_virtual();
  uint64_t at = prediction.place.offset;
  PacketId id = first_;
  for (uint32_t i = 0; i < length; ++i, id = packets[id].next) {
    const Packet& packet = packets[id];
    const uint32_t bytes =
        packet.datagram_bytes() - std::min(packet.datagram_bytes(), prediction.header_bytes);
    if (named) {
      network_.virtual_memory().write(prediction.place.region, at,
                                      {packet.content, packet.content_at, bytes});
    } else if (bytes > 0) {
      std::memcpy(regions_.resolve({prediction.place.region, at, bytes}),
                  packets.bytes(packet) + prediction.header_bytes, bytes);
    }
    at += bytes;
  }
  report_write(prediction.place.region, prediction.place.offset, at - prediction.place.offset,
               false);
  return true;
}

// True if the run has the predicted step, there is room, and bytes and place are of the same kind.
bool SimDatapath::fits(uint32_t length, const Prediction& prediction) const {
  const PacketStore& packets = network_.packets();
  const Packet& first = packets[first_];
  if (first.is_virtual() != is_virtual(prediction.place.region)) return false;
  if (first.is_virtual() && first.header_bytes != prediction.header_bytes) return false;
  const uint32_t step = first.datagram_bytes() - prediction.header_bytes;
  if (step > prediction.payload_bytes || (length > 1 && step != prediction.payload_bytes)) {
    return false;
  }
  return uint64_t{length} * step <= prediction.place.length;
}

void SimDatapath::scribble(uint32_t length, const Prediction& prediction) {
  const PacketStore& packets = network_.packets();
  const uint64_t step = packets[first_].datagram_bytes() - prediction.header_bytes;
  const uint64_t bytes = std::min(prediction.place.length, length * step);
  if (bytes == 0) return;
  const transport::Payload range{prediction.place.region, prediction.place.offset, bytes};
  if (is_virtual(range.region)) {
    network_.virtual_memory().write(range.region, range.offset, {kUnknownBytes, 0, bytes});
  } else {
    std::memset(regions_.resolve(range), 0xa5, bytes);
  }
  report_write(range.region, range.offset, bytes, false);
}

}  // namespace heddle::simulator
