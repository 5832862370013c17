// RemoteWrites: see remote_writes.h.
#include "simulator/datapath/remote_writes.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace heddle::simulator {

using transport::MemoryToken;
using transport::NicEvent;
using transport::NicEventKind;
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

// The largest RDMA MTU that fits the NICs' links, as drivers choose it.
uint32_t rdma_mtu(const Network& network, const SimDatapathOptions& options) {
  uint32_t max_datagram_bytes = network.max_datagram_bytes(options.nic);
  for (const NicId nic : options.further_nics) {
    max_datagram_bytes = std::max(max_datagram_bytes, network.max_datagram_bytes(nic));
  }
  uint32_t mtu = 4'096;
  while (mtu > 256 && mtu + kWriteHeaderBytes > max_datagram_bytes) mtu /= 2;
  return mtu;
}

}  // namespace

RemoteWrites::RemoteWrites(Network& network, const SimDatapathOptions& options, HostMemory& memory,
                           datapath::DatapathStatistics& statistics, Wakeup& wakeup)
    : network_(network),
      options_(options),
      memory_(memory),
      statistics_(statistics),
      wakeup_(wakeup),
      mtu_bytes_(rdma_mtu(network, options)),
      sender_(network, options.chunks, *this),
      agent_(network.add_agent(*this)) {}

RemoteWrites::~RemoteWrites() { network_.remove_agent(agent_); }

MemoryToken RemoteWrites::token(RegionId region) const {
  const std::optional<uint32_t> generation = memory_.generation(region);
  if (options_.chunk_paths == 0 || !generation) return {};
  return make_token(region, *generation);
}

// --- the sender ---

void RemoteWrites::send(const TxBurst& burst, uint16_t from_port) {
  PacketStore& packets = network_.packets();
  const transport::ChunkWrite& write = *burst.write;
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
  for (uint32_t at = 0; at == 0 || at < burst.payload_bytes; at += mtu_bytes_, ++piece.piece) {
    const uint32_t bytes = std::min(mtu_bytes_, burst.payload_bytes - at);
    const PacketId id = packets.lend(kWriteHeaderBytes, bytes, named ? kUnknownBytes : kNoBytes, 0);
    Packet& packet = packets[id];
    packet.kind = PacketKind::kWrite;
    packet.from_nic = options_.nic;
    packet.to_nic = nic_of(burst.to);
    packet.from_port = from_port;
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
  sender_.send({burst.path,
                write.number,
                {burst.region, burst.offset, burst.payload_bytes},
                memory_.generation(burst.region).value_or(0)},
               pieces_);
}

bool RemoteWrites::handle_departure(PacketId id) {
  Packet& packet = network_.packets()[id];
  if (packet.payload_bytes == 0) return true;
  const ChunkSource* const source = sender_.source_of(packet);
  if (source == nullptr) return false;
  const RegionId region = source->payload.region;
  if (memory_.generation(region) != source->generation) return false;
  const uint64_t from = source->payload.offset + uint64_t{packet.write.piece} * mtu_bytes_;
  if (is_virtual(region)) {
    const Content content = memory_.content_of({region, from, packet.payload_bytes});
    packet.content = content.name;
    packet.content_at = content.at;
  } else {
    std::memcpy(network_.packets().bytes(packet) + kWriteHeaderBytes,
                memory_.resolve({region, from, packet.payload_bytes}), packet.payload_bytes);
  }
  return true;
}

// --- the receiver ---

void RemoteWrites::handle_write(PacketId id) {
  const Packet& packet = network_.packets()[id];
  const RemoteWrite& write = packet.write;
  switch (receiver_.judge(packet)) {
    case ChunkReceiver::Verdict::kStale:
      network_.count(Fate::kWriteStale, write.chunk);
      break;
    case ChunkReceiver::Verdict::kRepeated:
      network_.count(Fate::kWriteStale, write.chunk);
      if (write.last) acknowledge(packet, false);
      break;
    case ChunkReceiver::Verdict::kGap:
      network_.count(Fate::kWriteGap, write.chunk);
      if (write.reliable && receiver_.report_gap(packet)) acknowledge(packet, true);
      break;
    case ChunkReceiver::Verdict::kWrite:
      land(packet);
      break;
  }
  network_.packets().give_back(id);
}

void RemoteWrites::land(const Packet& packet) {
  const RemoteWrite& write = packet.write;
  const bool written = write_piece(packet);
  if (!written || (write.last && events_.size() >= options_.chunk_events)) {
    network_.count(written ? Fate::kReceiveQueueFull : Fate::kWriteForbidden, write.chunk);
    receiver_.reject(packet);
    return;
  }
  receiver_.accept(packet);
  if (!write.last) return;
  NicEvent event;
  event.kind = NicEventKind::kArrived;
  event.connection = write.to_connection;
  event.path = packet.path;
  event.immediate = write.immediate;
  event.bytes = write.chunk_bytes;
  event.from = address_of(packet.from_nic, packet.from_port);
  event.at = network_.now() + options_.clock_offset;
  ++statistics_.datagrams_received;
  push_event(event);
  if (write.reliable) acknowledge(packet, false);
}

// Writes one piece; false: its token names no registered memory, or a range outside of it.
bool RemoteWrites::write_piece(const Packet& packet) {
  const uint32_t bytes = packet.payload_bytes;
  if (bytes == 0) return true;
  const RegionId region = packet.write.region;
  const uint64_t offset = packet.write.offset;
  if (memory_.generation(region) != packet.write.generation) return false;
  const uint64_t size = memory_.bytes(region);
  if (offset > size || bytes > size - offset) return false;
  if (packet.is_virtual()) {
    memory_.write(region, offset, {packet.content, packet.content_at, bytes});
  } else if (is_virtual(region)) {
    memory_.write(region, offset, {kUnknownBytes, 0, bytes});
  } else {
    std::memcpy(memory_.resolve({region, offset, bytes}),
                network_.packets().bytes(packet) + kWriteHeaderBytes, bytes);
  }
  statistics_.payload_placed_bytes += bytes;
  memory_.report_write({region, offset, bytes}, false);
  return true;
}

void RemoteWrites::acknowledge(const Packet& packet, bool gap) {
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
  ack.write.chunk = receiver_.next_chunk(packet);
  ack.write.gap = gap;
  std::memset(packets.bytes(ack), 0, kWriteHeaderBytes);
  network_.send(id);
}

void RemoteWrites::handle_sent(const ChunkFate& fate) {
  NicEvent event;
  event.kind = NicEventKind::kSent;
  event.connection = fate.connection;
  event.path = fate.path;
  event.epoch = fate.epoch;
  event.number = fate.number;
  event.ok = fate.ok;
  push_event(event);
}

void RemoteWrites::fence(const transport::FenceRequest& request) {
  fences_.push_back({network_.now() + options_.fence_takes, request});
  network_.schedule(agent_, fences_.front().at);
}

void RemoteWrites::run(Nanos now_of_network) {
  while (!fences_.empty() && fences_.front().at <= now_of_network) {
    const transport::FenceRequest request = fences_.pop_front().request;
    receiver_.fence(request);
    NicEvent event;
    event.kind = NicEventKind::kFenced;
    event.connection = request.connection;
    event.path = request.path;
    event.epoch = request.epoch;
    push_event(event);
  }
  if (!fences_.empty()) network_.schedule(agent_, fences_.front().at);
}

void RemoteWrites::push_event(const NicEvent& event) {
  events_.push_back(event);
  wakeup_.handle_ready();
}

}  // namespace heddle::simulator
