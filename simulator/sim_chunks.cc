// Remote writes of the simulated datapath: chunks are split into packets of an RDMA MTU, whose
// payload the NIC reads as they leave, land piece by piece in the receiver's memory without its
// process, and are reported by events. A delayed piece lands late.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "simulator/sim_datapath.h"

namespace heddle::simulator {

using transport::MemoryToken;
using transport::PlacedEvent;
using transport::PlacedEventKind;
using transport::RegionId;
using transport::TxBurst;

namespace {

constexpr uint8_t kTokenBytes = 8;
constexpr RegionId kNoBytes = transport::kNoRegion;  // the packet has real payload

MemoryToken make_token(RegionId region, uint32_t generation) {
  MemoryToken token;
  std::memcpy(&token.bytes[0], &region, 4);
  std::memcpy(&token.bytes[4], &generation, 4);
  token.length = kTokenBytes;
  return token;
}

// The largest RDMA MTU that fits, as drivers choose it.
uint32_t rdma_mtu(uint32_t max_datagram_bytes) {
  uint32_t mtu = 4'096;
  while (mtu > 256 && mtu + kWriteHeaderBytes > max_datagram_bytes) mtu /= 2;
  return mtu;
}

}  // namespace

MemoryToken SimDatapath::token(RegionId region) const {
  const auto found = generations_.find(region);
  if (options_.chunk_paths == 0 || found == generations_.end()) return {};
  return make_token(region, found->second);
}

void SimDatapath::send_chunk(const TxBurst& burst) {
  PacketStore& packets = network_.packets();
  const transport::ChunkWrite& write = *burst.write;
  const uint32_t mtu = rdma_mtu(capabilities_.max_datagram_bytes);
  const bool named = is_virtual(burst.region) && burst.payload_bytes > 0;
  RemoteWrite piece;
  // The peer supplies the token: one of another length names no memory, and the peer's NIC rejects
  // the write.
  if (write.token.length == kTokenBytes) {
    std::memcpy(&piece.region, &write.token.bytes[0], 4);
    std::memcpy(&piece.generation, &write.token.bytes[4], 4);
  }
  piece.from_connection = write.from_connection;
  piece.to_connection = write.to_connection;
  piece.epoch = write.epoch;
  piece.immediate = write.immediate;
  piece.chunk_bytes = burst.payload_bytes;
  pieces_.clear();
  for (uint32_t at = 0; at == 0 || at < burst.payload_bytes; at += mtu, ++piece.piece) {
    const uint32_t bytes = std::min(mtu, burst.payload_bytes - at);
    const PacketId id = packets.lend(kWriteHeaderBytes, bytes, named ? kUnknownBytes : kNoBytes, 0);
    Packet& packet = packets[id];
    packet.kind = PacketKind::kWrite;
    packet.from_nic = options_.nic;
    packet.to_nic = nic_of(burst.to);
    packet.from_port =
        static_cast<uint16_t>(nics_.front().send_base + options_.max_paths + burst.path);
    packet.to_port = burst.to.port;
    packet.path = burst.path;
    if (burst.ecn_capable && options_.ecn) packet.ecn = transport::Ecn::kEct0;
    piece.offset = write.remote_offset + at;
    piece.last = at + bytes == burst.payload_bytes;
    packet.write = piece;
    std::memset(packets.bytes(packet), 0, kWriteHeaderBytes);
    pieces_.push_back(id);
  }
  ++statistics_.datagrams_sent;
  const auto generation = generations_.find(burst.region);
  chunk_sender_.send({burst.path,
                      write.number,
                      {burst.region, burst.offset, burst.payload_bytes},
                      generation == generations_.end() ? 0 : generation->second},
                     pieces_);
}

bool SimDatapath::handle_departure(PacketId id) {
  Packet& packet = network_.packets()[id];
  if (packet.payload_bytes == 0) return true;
  const ChunkSource* const source = chunk_sender_.source_of(packet);
  if (source == nullptr) return false;
  const RegionId region = source->payload.region;
  const auto registered = generations_.find(region);
  if (registered == generations_.end() || registered->second != source->generation) return false;
  const uint32_t mtu = rdma_mtu(capabilities_.max_datagram_bytes);
  const uint64_t from = source->payload.offset + uint64_t{packet.write.piece} * mtu;
  if (is_virtual(region)) {
    const Content content = content_of(region, from, packet.payload_bytes);
    packet.content = content.name;
    packet.content_at = content.at;
  } else {
    std::memcpy(network_.packets().bytes(packet) + kWriteHeaderBytes,
                regions_.resolve({region, from, packet.payload_bytes}), packet.payload_bytes);
  }
  return true;
}

void SimDatapath::handle_write(PacketId id) {
  const Packet& packet = network_.packets()[id];
  const RemoteWrite& write = packet.write;
  switch (chunk_receiver_.judge(packet)) {
    case ChunkReceiver::Verdict::kStale:
      network_.count(Fate::kWriteStale, write.chunk);
      break;
    case ChunkReceiver::Verdict::kRepeated:
      network_.count(Fate::kWriteStale, write.chunk);
      if (write.last) acknowledge(packet, false);
      break;
    case ChunkReceiver::Verdict::kGap:
      network_.count(Fate::kWriteGap, write.chunk);
      if (write.reliable && chunk_receiver_.report_gap(packet)) acknowledge(packet, true);
      break;
    case ChunkReceiver::Verdict::kWrite:
      land(packet);
      break;
  }
  network_.packets().give_back(id);
}

void SimDatapath::land(const Packet& packet) {
  const RemoteWrite& write = packet.write;
  const bool written = write_piece(packet);
  if (!written || (write.last && events_.size() >= options_.chunk_events)) {
    network_.count(written ? Fate::kReceiveQueueFull : Fate::kWriteForbidden, write.chunk);
    chunk_receiver_.reject(packet);
    return;
  }
  chunk_receiver_.accept(packet);
  if (!write.last) return;
  PlacedEvent event;
  event.kind = PlacedEventKind::kArrived;
  event.connection = write.to_connection;
  event.path = packet.path;
  event.immediate = write.immediate;
  event.bytes = write.chunk_bytes;
  event.from = address_of(packet.from_nic, packet.from_port);
  event.at = now();
  ++statistics_.datagrams_received;
  push_event(event);
  if (write.reliable) acknowledge(packet, false);
}

// Writes one piece; false: its token names no registered memory, or a range outside of it.
bool SimDatapath::write_piece(const Packet& packet) {
  const uint32_t bytes = packet.payload_bytes;
  if (bytes == 0) return true;
  const RegionId region = packet.write.region;
  const uint64_t offset = packet.write.offset;
  const auto found = generations_.find(region);
  if (found == generations_.end() || found->second != packet.write.generation) return false;
  const uint64_t size =
      is_virtual(region) ? network_.virtual_memory().bytes(region) : regions_.at(region).bytes;
  if (offset > size || bytes > size - offset) return false;
  const Content content = packet.is_virtual() ? Content{packet.content, packet.content_at, bytes}
                                              : Content{kUnknownBytes, 0, bytes};
  if (is_virtual(region)) {
    network_.virtual_memory().write(region, offset, content);
  } else if (packet.is_virtual()) {
    fill(regions_.resolve({region, offset, bytes}), content);
  } else {
    std::memcpy(regions_.resolve({region, offset, bytes}),
                network_.packets().bytes(packet) + kWriteHeaderBytes, bytes);
  }
  statistics_.payload_placed_bytes += bytes;
  report_write(region, offset, bytes, false);
  return true;
}

void SimDatapath::acknowledge(const Packet& packet, bool gap) {
  PacketStore& packets = network_.packets();
  const PacketId id = packets.lend(kWriteHeaderBytes, 0, transport::kNoRegion, 0);
  Packet& ack = packets[id];
  ack.kind = PacketKind::kWriteAck;
  ack.from_nic = options_.nic;
  ack.to_nic = packet.from_nic;
  ack.from_port = options_.port;
  ack.to_port = packet.from_port;
  ack.path = packet.path;
  ack.write.to_connection = packet.write.from_connection;
  ack.write.epoch = packet.write.epoch;
  ack.write.chunk = chunk_receiver_.next_chunk(packet);
  ack.write.gap = gap;
  std::memset(packets.bytes(ack), 0, kWriteHeaderBytes);
  network_.send(id);
}

void SimDatapath::handle_sent(const ChunkFate& fate) {
  PlacedEvent event;
  event.kind = PlacedEventKind::kSent;
  event.connection = fate.connection;
  event.path = fate.path;
  event.epoch = fate.epoch;
  event.number = fate.number;
  event.ok = fate.ok;
  push_event(event);
}

void SimDatapath::recall(const transport::RecallRequest& request) {
  const Inside inside(call_observer_);
  chunk_sender_.recall(request);
}

void SimDatapath::fence(const transport::FenceRequest& request) {
  const Inside inside(call_observer_);
  fences_.push_back({network_.now() + options_.fence_takes, request});
  network_.schedule(agent_, fences_.front().at);
}

void SimDatapath::run(Nanos now_of_network) {
  while (!fences_.empty() && fences_.front().at <= now_of_network) {
    const transport::FenceRequest request = fences_.pop_front().request;
    chunk_receiver_.fence(request);
    PlacedEvent event;
    event.kind = PlacedEventKind::kFenced;
    event.connection = request.connection;
    event.path = request.path;
    event.epoch = request.epoch;
    push_event(event);
  }
  if (!fences_.empty()) network_.schedule(agent_, fences_.front().at);
}

void SimDatapath::push_event(const PlacedEvent& event) {
  events_.push_back(event);
  if (wakeup_ != nullptr) wakeup_->handle_ready();
}

}  // namespace heddle::simulator
