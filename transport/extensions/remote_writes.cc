// Chunks out, chunks in, the fences that keep a late write from changing a complete buffer, and the
// recalls that keep the NIC from reading one.
#include "transport/extensions/remote_writes.h"

#include <algorithm>
#include <variant>

#include "transport/connection/packet_writer.h"
#include "transport/extensions/params.h"
#include "transport/wire/immediate.h"

namespace heddle::transport {
namespace {

using events::DropReason;

using namespace params::remote_writes;

}  // namespace

// Remote writes cannot be encrypted or authenticated.
void RemoteWrites::open_endpoint(Shared& shared) {
  EndpointOptions& o = shared.options;
  if (shared.keyed && !o.unsealed_chunks) o.chunk_paths = 0;
  shared.payload_in_datagrams = o.chunk_paths == 0;
}

RemoteWrites::RemoteWrites(ConnectionParts& parts)
    : Extension(parts),
      PayloadStrategy(parts.sender, parts.shared.random),
      acks_(parts.shared.ranges) {}

void RemoteWrites::propose(const HandshakeParameters* /*offered*/, HandshakeParameters& own,
                           std::string& /*congestion*/) {
  own.chunk_paths = parts().shared.options.chunk_paths;
  own.chunk_bytes = parts().shared.options.chunk_bytes;
}

void RemoteWrites::prepare(const HandshakeParameters& peer, OpenPlan& plan) {
  const EndpointOptions& o = parts().shared.options;
  const bool both = o.chunk_paths > 0 && peer.chunk_paths > 0 && peer.chunk_paths <= UINT8_MAX;
  unit_bytes_ = both ? std::min({o.chunk_bytes, peer.chunk_bytes, kMaxChunkBytes}) : 0;
  if (unit_bytes_ == 0) return;
  largest_chunk_ = chunk_units_ = std::min(kMostUnits, kMaxChunkBytes / unit_bytes_);
  plan.send.strategy_paths = {std::min<uint16_t>(o.chunk_paths, UINT8_MAX),
                              largest_chunk_ * unit_bytes_, Immediate::kMaxAhead};
  failures_.assign(plan.send.strategy_paths.count, 0);
  plan.peer_limits.claimable_from = kLeastWritten;
  plan.peer_limits.claimable_to = unit_bytes_ * Immediate::kMaxChunks;
  acks_.open(peer.chunk_paths, kFirstChunkPathName);
  fences_.open(peer.chunk_paths);
  parts().incoming.open_placed(parts().shared.tokens, fences_);
}

void RemoteWrites::on_open(Nanos /*now*/, const Agreement& agreement) {
  if (unit_bytes_ == 0) return;
  parts().payload = this;
  const ConnectionIdentity& identity = parts().identity;
  parts().shared.nic_requests.push_back(
      WriterAdmission{identity.id, agreement.peer.chunk_paths, identity.peer});
}

// --- sending ---

// Datagrams may pass where no remote write does.
bool RemoteWrites::claims(Piece& piece) {
  if (piece.claimable && !parts().sender.any_active()) parts().outgoing.take_by_datagrams(piece);
  return piece.claimable;
}

bool RemoteWrites::poll_quota(Nanos now, SendQuota& quota) {
  return parts().sender.poll_datagram_quota(now, quota);
}

bool RemoteWrites::claims_probe(uint16_t path) { return !parts().sender.is_datagram_path(path); }

SendResult RemoteWrites::send(Nanos now, TxBatch& batch, const Piece& piece) {
  SendController& sender = parts().sender;
  SendQuota quota;
  if (!sender.poll_quota(now, parts().shared.random, quota)) return SendResult::kNothing;
  const uint32_t bytes = std::min(piece.length, chunk_units_ * unit_bytes_);
  SentBurst* sent = sender.record(quota.path, 1);
  if (sent == nullptr) return SendResult::kNothing;
  Immediate immediate;
  immediate.number_low = static_cast<uint32_t>(sent->first_number);
  immediate.slot = piece.slot;
  immediate.chunk = piece.offset / unit_bytes_;
  immediate.last = piece.offset + bytes == piece.message_bytes;
  Chunk chunk{quota.path, pack(immediate), parts().outgoing.remote_place(piece.slot)};
  chunk.place.offset += piece.offset;
  TxBurst burst = single_packet(parts(), 0, quota.path, nullptr);
  burst.payload_bytes = burst.last_payload_bytes = bytes;
  burst.region = piece.payload.region;
  burst.offset = piece.payload.offset + piece.offset;
  const uint64_t number = sent->first_number;
  const auto chunk_path = static_cast<uint16_t>(quota.path - sender.datagram_paths());
  sent->data = true;
  sent->record = {
      piece.message, piece.sequence, piece.offset, bytes,
      bytes,         piece.channel,  true,         {chunk_path, sender.epoch(quota.path), number}};
  write_chunk(now, batch, chunk, burst);
  parts().outgoing.take(piece, bytes);
  parts().statistics.payload_bytes_sent += bytes;
  ++parts().statistics.segments_sent;
  parts().shared.observer.emit(
      events::BurstSent{now, parts().identity.id, quota.path, number, 1, bytes, false});
  return SendResult::kSent;
}

// An empty chunk.
void RemoteWrites::send_probe(Nanos now, TxBatch& batch, uint16_t path) {
  const SentBurst* sent = parts().sender.record(path, 1);
  if (sent == nullptr) return;
  Immediate immediate;
  immediate.number_low = static_cast<uint32_t>(sent->first_number);
  immediate.slot = Immediate::kProbeSlot;
  write_chunk(now, batch, {path, pack(immediate), {}}, single_packet(parts(), 0, path, nullptr));
}

void RemoteWrites::write_chunk(Nanos now, TxBatch& batch, const Chunk& chunk,
                               const TxBurst& burst) {
  SendController& sender = parts().sender;
  ChunkWrite write;
  write.from_connection = parts().identity.id;
  write.to_connection = parts().identity.peer_id;
  write.number = sender.recorded_number();
  write.epoch = sender.epoch(chunk.path).value();
  write.immediate = chunk.immediate;
  write.token = chunk.place.token;
  write.remote_offset = chunk.place.offset;
  TxBurst added = burst;
  added.path = static_cast<uint16_t>(chunk.path - sender.datagram_paths());
  batch.add_write(added, write);
  sender.sent(now, chunk.path);
}

// Acknowledgements call chunk paths by names of their own.
uint16_t RemoteWrites::path_named(uint16_t name) const {
  if (name < kFirstChunkPathName) return name;
  const uint32_t path = name - kFirstChunkPathName + uint32_t{parts().sender.datagram_paths()};
  return static_cast<uint16_t>(std::min<uint32_t>(path, UINT16_MAX));
}

void RemoteWrites::write_frames(Nanos now, Writer& writer) {
  if (acks_.write(now, parts().own_window(), writer)) ++parts().statistics.acks_sent;
}

void RemoteWrites::write_record(ControlRecord& record, Writer& writer) {
  if (record.type != FrameType::kPlacedGrant) {
    write_fence(record.type, {record.channel, static_cast<uint16_t>(record.capacity)}, writer);
    return;
  }
  PlacedGrantFrame placed;
  if (parts().incoming.describe(record.channel, record.sequence, placed)) {
    write_placed_grant(placed, writer);
    return;
  }
  record.type = FrameType::kGrant;  // over by now: only that it was posted matters
  write_grant({record.channel, record.sequence, record.count, record.capacity}, writer);
}

uint16_t RemoteWrites::current_chunk_path() const {
  return static_cast<uint16_t>(parts().sender.current_path() - parts().sender.datagram_paths());
}

void RemoteWrites::on_acked(const SentBurst& sent, uint32_t /*first*/, uint32_t /*count*/,
                            bool was_lost) {
  if (!sent.data || !sent.record.claimed) return;
  failures_[current_chunk_path()] = 0;
  if (!was_lost) count_chunk(false);
}

// A gap shows that the NIC has passed the write. Any other loss says nothing about the NIC, which
// could still read the payload after the message was acknowledged as datagrams.
void RemoteWrites::on_lost(const SentBurst& sent, uint32_t /*first*/, uint32_t /*count*/,
                           events::LossCause cause) {
  if (!sent.data || !sent.record.claimed) return;
  count_chunk(true);
  if (cause != events::LossCause::kGap) recall(current_chunk_path());
}

// A packet that is lost takes its chunk with it, so that the shorter chunks are, the less is lost.
void RemoteWrites::count_chunk(bool lost) {
  ++chunks_counted_;
  if (lost) ++chunks_lost_;
  const bool too_many = chunks_lost_ >= kLostOfCounted;
  if (!too_many && chunks_counted_ < kCounted) return;
  if (too_many) chunk_units_ = std::max(chunk_units_ / 2, 1u);
  if (chunks_lost_ == 0) chunk_units_ = std::min(chunk_units_ * 2, largest_chunk_);
  chunks_counted_ = chunks_lost_ = 0;
}

void RemoteWrites::recall(uint16_t chunk_path) {
  Ring<NicRequest>& requests = parts().shared.nic_requests;
  const RecallRequest request{parts().identity.id, chunk_path};
  const auto* latest = requests.empty() ? nullptr : std::get_if<RecallRequest>(&requests.back());
  if (latest == nullptr || *latest != request) requests.push_back(request);
}

// --- receiving ---

void RemoteWrites::on_event(Nanos now, const NicEvent& event) {
  switch (event.kind) {
    case NicEventKind::kFenced:
      on_fenced(event);
      break;
    case NicEventKind::kArrived:
      if (!over_) on_arrived(now, event);
      break;
    case NicEventKind::kSent:
      // That it has landed does not say that its receive was not withdrawn: only the peer knows.
      if (!over_ && !event.ok) on_write_failed(now, event);
      break;
  }
}

void RemoteWrites::on_write_failed(Nanos now, const NicEvent& event) {
  SendController& sender = parts().sender;
  const auto path = static_cast<uint16_t>(event.path + sender.datagram_paths());
  // A NIC that makes its queue pair anew reports the writes of the old one as failed. The new one
  // is not broken by that: asking for a fence would have it made anew for ever.
  if (event.path >= failures_.size() || path >= sender.paths()) return;
  if (sender.epoch(path).value() != event.epoch) return;
  // Where empty writes pass and those of payload do not, each probe returns the path to have the
  // next write fail. It stays away for longer each time, and others, or datagrams, carry on.
  uint8_t& failures = failures_[event.path];
  const bool ends_it = sender.is_active(path);
  if (!sender.on_send_failed(now, path, event.number, failures)) return;
  if (ends_it && failures < UINT8_MAX) ++failures;
  // Its queue pair is broken until the peer has made its side anew.
  parts().control.send({FrameType::kAskFence, 0, event.path, 0, 0, sender.epoch(path).value()});
}

void RemoteWrites::on_arrived(Nanos now, const NicEvent& event) {
  const Observer& observer = parts().shared.observer;
  const ConnectionId id = parts().identity.id;
  Incoming& incoming = parts().incoming;
  if (event.path >= fences_.paths() || event.from.host != parts().identity.peer.host) {
    observer.drop(now, id, DropReason::kBadField);
    return;
  }
  // It does not show that the peer can answer: probes and acknowledgements are datagrams, which may
  // take a link that is dead while those of the writes are not.
  const Immediate immediate = unpack(event.immediate);
  const uint64_t number = fences_.arrived(event.path, immediate.number_low);
  const bool empty = immediate.slot == Immediate::kProbeSlot;
  if (!empty) {
    const std::optional<DropReason> drop = incoming.accept_chunk(
        {immediate.slot, uint64_t{immediate.chunk} * unit_bytes_, event.bytes, immediate.last});
    if (drop) observer.drop(now, id, *drop);
    // Not acknowledged, or the peer would count a withdrawn message as delivered.
    if (drop && *drop != DropReason::kDuplicate) {
      incoming.resume();
      return;
    }
    if (drop == DropReason::kDuplicate) ++parts().statistics.segments_duplicate;
    ++parts().statistics.segments_received;
    parts().share.note_payload(now);
  }
  incoming.resume();
  await_fences(now);
  ConnectionHeader header;
  header.path = event.path;
  header.flags = immediate.last || empty ? kFlagAckNow : 0;
  acks_.note(now, header, {.low = number, .high = number, .bytes = std::max(event.bytes, 1u)});
}

FrameResult RemoteWrites::on_frame(Nanos now, FrameType type, Reader& reader,
                                   const FrameOrigin& from) {
  if (type == FrameType::kPlacedGrant) return on_placed_grant(reader);
  FenceFrame fence;
  if (!read_fence(reader, fence)) return kMalformedFrame;
  if (has_answer(type) && from.crowded) return {.comes_again = true};
  return on_fence_frame(now, type, fence) ? FrameResult{} : kMalformedFrame;
}

FrameResult RemoteWrites::on_placed_grant(Reader& reader) {
  PlacedGrantFrame grant;
  if (!read_placed_grant(reader, grant)) return kMalformedFrame;
  FrameResult result;
  const bool sends_on = grant.channel < parts().shared.options.max_channels;
  result.refused = sends_on && !parts().outgoing.on_placed_grant(grant);
  return result;
}

bool RemoteWrites::on_fence_frame(Nanos now, FrameType type, const FenceFrame& fence) {
  SendController& sender = parts().sender;
  if (type == FrameType::kFenced) {
    const uint32_t path = fence.path + uint32_t{sender.datagram_paths()};
    if (path >= sender.paths()) return false;
    return sender.on_new_epoch(now, static_cast<uint16_t>(path), fence.epoch);
  }
  if (fence.path >= fences_.paths()) return false;
  // A path that was made anew since the peer asked needs nothing more.
  if (fences_.epoch(fence.path) == fence.epoch) fences_.request(fence.path);
  return true;
}

// --- fences ---

void RemoteWrites::on_fenced(const NicEvent& event) {
  if (event.path == FenceRequest::kEveryPath) {
    drained_ = true;
    return;
  }
  if (over_ || !fences_.on_fenced(event.path, event.epoch)) return;
  parts().control.send({FrameType::kFenced, 0, event.path, 0, 0, event.epoch});
  parts().incoming.resume();
}

void RemoteWrites::flush() {
  // Which paths carried the message's chunks is not known.
  if (parts().outgoing.take_abandoned_writes() && !over_) recall(RecallRequest::kEveryPath);
  FenceRequest request;
  while (fences_.poll(request)) {
    request.connection = parts().identity.id;
    parts().shared.nic_requests.push_back(request);
  }
}

// Something arrived: if a message now waits for a fence only, it requests one before long.
void RemoteWrites::await_fences(Nanos now) {
  Incoming& incoming = parts().incoming;
  if (!incoming.awaits_fences() || fence_at_ != Nanos::never()) return;
  if (incoming.request_fences(true)) fence_at_ = now + kFenceDelay;
}

bool RemoteWrites::close() {
  over_ = true;
  recall(RecallRequest::kEveryPath);
  parts().shared.nic_requests.push_back(
      FenceRequest{parts().identity.id, FenceRequest::kEveryPath, 0});
  return parts().incoming.may_be_written();
}

Nanos RemoteWrites::next_timeout() const { return std::min(acks_.due_at(), fence_at_); }

void RemoteWrites::handle_timeout(Nanos now) {
  if (fence_at_ > now) return;
  fence_at_ = Nanos::never();
  parts().incoming.request_fences(false);
  flush();
}

void RemoteWrites::release_memory(Nanos now) {
  acks_.forget_old_gaps(now - AckManager::kGapsKeptFor);
}

}  // namespace heddle::transport
