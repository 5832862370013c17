// The placed-chunk shape in a connection: payload written remotely by the NIC, chunk by chunk; what
// such a NIC tells; and the fences that keep a late write from changing a finished buffer (see
// transport/placed.h).
#include <algorithm>

#include "transport/connection/connection.h"

namespace heddle::transport {
namespace {

using events::DropReason;

// So long a finished message waits for a later write of the same path to fence it, before it asks
// for a fence.
constexpr Nanos kFencePatience = millis(1);

}  // namespace

void Connection::open_placed(const HandshakeParameters& peer, SendOptions& send) {
  const EndpointOptions& o = shared_.options;
  const bool both = o.chunk_paths > 0 && peer.chunk_paths > 0 && peer.chunk_paths <= UINT8_MAX;
  chunk_bytes_ = both ? std::min({o.chunk_bytes, peer.chunk_bytes, kMaxChunkBytes}) : 0;
  if (chunk_bytes_ == 0) return;
  send.chunk_paths = std::min<uint16_t>(o.chunk_paths, UINT8_MAX);
  send.chunk_bytes = chunk_bytes_;
  chunk_acks_.open(peer.chunk_paths, kFirstChunkPathName);
  fences_.open(peer.chunk_paths);
  incoming_.open_placed(shared_.tokens, fences_);
}

Connection::Sent Connection::send_chunk(Nanos now, TxBatch& batch, const Piece& piece) {
  SendQuota quota;
  if (!sender_.poll_quota(now, shared_.random, quota)) return Sent::kNothing;
  const uint32_t bytes = std::min(piece.length, chunk_bytes_);
  SentBurst* run = sender_.record(quota.path, 1);
  if (run == nullptr) return Sent::kNothing;
  Immediate immediate;
  immediate.number_low = static_cast<uint32_t>(run->first_number);
  immediate.slot = piece.slot;
  immediate.chunk = piece.offset / chunk_bytes_;
  immediate.last = piece.offset + bytes == piece.message_bytes;
  RemotePlace place = outgoing_.remote_place(piece.slot);
  place.offset += piece.offset;
  TxBurst burst = single(0, quota.path, nullptr);
  burst.payload_bytes = burst.last_payload_bytes = bytes;
  burst.region = piece.payload.region;
  burst.offset = piece.payload.offset + piece.offset;
  const uint64_t number = run->first_number;
  const auto chunk_path = static_cast<uint16_t>(quota.path - sender_.first_chunk_path());
  run->data = true;
  run->row = {
      piece.message, piece.sequence, piece.offset, bytes,
      bytes,         piece.channel,  true,         {chunk_path, sender_.epoch(quota.path), number}};
  write_chunk(now, batch, quota.path, immediate, burst, place);
  outgoing_.take(piece, bytes);
  statistics_.payload_bytes_sent += bytes;
  ++statistics_.segments_sent;
  shared_.observer.emit(events::BurstSent{now, id_, quota.path, number, 1, bytes, false});
  return Sent::kOne;
}

// Asks a chunk path whether it lives.
Connection::Sent Connection::send_empty_chunk(Nanos now, TxBatch& batch, uint16_t path) {
  const SentBurst* run = sender_.record(path, 1);
  if (run == nullptr) return Sent::kNothing;
  Immediate immediate;
  immediate.number_low = static_cast<uint32_t>(run->first_number);
  immediate.slot = Immediate::kProbeSlot;
  write_chunk(now, batch, path, immediate, single(0, path, nullptr), {});
  return Sent::kOne;
}

// Hands the recorded packet over as a write.
void Connection::write_chunk(Nanos now, TxBatch& batch, uint16_t path, const Immediate& immediate,
                             const TxBurst& burst, const RemotePlace& place) {
  ChunkWrite write;
  write.from_connection = id_;
  write.to_connection = peer_id_;
  write.number = sender_.recorded_number();
  write.epoch = sender_.epoch(path).value();
  write.immediate = pack(immediate);
  write.token = place.token;
  write.remote_offset = place.offset;
  TxBurst chunk = burst;
  chunk.path = static_cast<uint16_t>(path - sender_.first_chunk_path());
  batch.add_write(chunk, write);
  sender_.sent(now, path);
}

void Connection::handle_placed(Nanos now, const PlacedEvent& event) {
  switch (event.kind) {
    case PlacedEventKind::kFenced:
      handle_fenced(event);
      break;
    case PlacedEventKind::kArrived:
      if (!over() && chunk_bytes_ != 0) handle_arrived(now, event);
      break;
    case PlacedEventKind::kSent: {
      // That it has landed does not say that its receive was not withdrawn: only the peer knows.
      if (over() || event.ok) break;
      const auto path = static_cast<uint16_t>(event.path + sender_.first_chunk_path());
      if (!sender_.on_write_failed(now, path, event.number)) break;
      // Its queue pair is broken until the peer has made its side anew.
      tell({FrameType::kAskFence, 0, event.path, 0, 0, sender_.epoch(path).value()});
      break;
    }
  }
  take_fences();
  if (!over()) advance_close(now);
}

void Connection::handle_arrived(Nanos now, const PlacedEvent& event) {
  if (event.path >= fences_.paths() || event.from.host != peer_.host) {
    shared_.observer.drop(now, id_, DropReason::kBadField);
    return;
  }
  heard_at_ = now;
  sender_.peer_was_heard();
  const Immediate immediate = unpack(event.immediate);
  const uint64_t number = fences_.arrived(event.path, immediate.number_low);
  const bool empty = immediate.slot == Immediate::kProbeSlot;
  if (!empty) {
    const std::optional<DropReason> drop = incoming_.accept_chunk(
        {immediate.slot, uint64_t{immediate.chunk} * chunk_bytes_, event.bytes, immediate.last});
    if (drop) shared_.observer.drop(now, id_, *drop);
    // Not acknowledged, or the peer would take a withdrawn message for delivered.
    if (drop && *drop != DropReason::kDuplicate) {
      incoming_.resume();
      return;
    }
    if (drop == DropReason::kDuplicate) ++statistics_.segments_duplicate;
    ++statistics_.segments_received;
    count_receiving(now);
  }
  incoming_.resume();
  watch_fences(now);
  ConnectionHeader header;
  header.path = event.path;
  header.flags = immediate.last || empty ? kFlagAckNow : 0;
  chunk_acks_.note(now, header,
                   {.low = number, .high = number, .bytes = std::max(event.bytes, 1u)});
}

void Connection::handle_fenced(const PlacedEvent& event) {
  if (event.path == FenceRequest::kEveryPath) {
    if (fencing_) end_receives();
    return;
  }
  if (over() || !fences_.on_fenced(event.path, event.epoch)) return;
  tell({FrameType::kFenced, 0, event.path, 0, 0, event.epoch});
  incoming_.resume();
}

bool Connection::handle_fence_frame(Nanos now, FrameType type, const FenceFrame& fence) {
  if (chunk_bytes_ == 0) return false;
  if (type == FrameType::kFenced) {
    const uint32_t path = fence.path + uint32_t{sender_.first_chunk_path()};
    if (path >= sender_.paths()) return false;
    return sender_.on_fenced(now, static_cast<uint16_t>(path), fence.epoch);
  }
  if (fence.path >= fences_.paths()) return false;
  // One that was made anew since the peer asked needs nothing more.
  if (fences_.epoch(fence.path) == fence.epoch) fences_.request(fence.path);
  return true;
}

// Passes requests on to the endpoint.
void Connection::take_fences() {
  FenceRequest request;
  while (fences_.poll(request)) {
    request.connection = id_;
    shared_.fences.push_back(request);
  }
}

// Something arrived: if a message now waits for a fence only, it asks for one before long.
void Connection::watch_fences(Nanos now) {
  if (!incoming_.awaits_fences() || fence_at_ != Nanos::never()) return;
  if (incoming_.request_fences(true)) fence_at_ = now + kFencePatience;
}

}  // namespace heddle::transport
