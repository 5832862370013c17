// How a burst of payload is cut, flagged and written.
#include "transport/connection/burst_sender.h"

#include <algorithm>

#include "transport/connection/packet_writer.h"
#include "transport/connection/params.h"

namespace heddle::transport {

using namespace params::bursts;

SendResult BurstSender::send(Nanos now, TxBatch& batch) {
  Piece piece;
  if (!parts_.outgoing.peek(piece)) {
    parts_.sender.note_idle();
    return SendResult::kNothing;
  }
  if (!batch.has_room(kMaxBurstSegments * parts_.keys.data_header_bytes())) {
    return SendResult::kFull;
  }
  if (parts_.payload->claims(piece)) return parts_.payload->send(now, batch, piece);
  if (parts_.flow_control != nullptr && !parts_.flow_control->may_send(piece)) {
    parts_.sender.note_held_back();
    return SendResult::kNothing;
  }
  SendQuota quota;
  if (!parts_.payload->poll_quota(now, quota)) return SendResult::kNothing;
  return send_segments(now, batch, piece, quota);
}

BurstSender::Cut BurstSender::cut(const Piece& piece, const SendQuota& quota) const {
  Cut cut;
  cut.step = quota.datagram_bytes - parts_.keys.data_header_bytes();
  const uint32_t needed = std::max((piece.length + cut.step - 1) / cut.step, 1u);
  cut.segments = std::min(needed, quota.segments);
  if (parts_.flow_control != nullptr) {
    cut.segments = parts_.flow_control->segments_allowed(piece, cut.segments, cut.step);
  }
  cut.bytes = std::min(piece.length, cut.segments * cut.step);
  return cut;
}

// Whether a whole small message goes into one packet with the frames that wait: a reply costs one
// packet then.
bool BurstSender::shares_packet(const Piece& piece, const SendQuota& quota, uint32_t bytes) const {
  const bool waiting =
      !parts_.control.empty() || parts_.acks.pending() || parts_.payload->acks_pending();
  const uint32_t needed =
      kConnectionHeaderBytes + bytes + kRoomBesideMessage + parts_.keys.tag_bytes();
  return waiting && bytes == piece.message_bytes && bytes <= kMessageBytes &&
         needed <= quota.datagram_bytes && piece.original.number == 0;
}

SendResult BurstSender::send_segments(Nanos now, TxBatch& batch, const Piece& piece,
                                      const SendQuota& quota) {
  const Cut cut = this->cut(piece, quota);
  if (shares_packet(piece, quota, cut.bytes)) return send_with_frames(now, batch, piece, quota);
  SentBurst* sent = parts_.sender.record(quota.path, static_cast<uint8_t>(cut.segments));
  if (sent == nullptr) return SendResult::kNothing;

  const uint8_t flags = flags_of(piece, cut.bytes, quota);
  PacketKey* key = next_send_key(parts_, now, cut.segments);
  DataHeader first;
  first.base = packet_header(parts_, now, PacketType::kData, quota.path, flags);
  first.base.number = sent->first_number;
  if (piece.original.number != 0) {
    first.base.type = PacketType::kRetransmission;
    first.base.sent_at = pack(piece.original);
  }
  first.channel = piece.channel;
  first.sequence = piece.sequence;
  first.offset = piece.offset;
  first.message_bytes = piece.message_bytes;
  std::byte* space = batch.header_space();
  const uint32_t stride = parts_.keys.written_header_bytes();
  write_data_headers(first, cut.segments, {cut.step, stride}, space);
  TxBurst burst = single_packet(parts_, stride, quota.path, space);
  burst.segments = static_cast<uint16_t>(cut.segments);
  burst.ecn_capable = true;
  burst.payload_bytes = cut.first();
  burst.last_payload_bytes = cut.last();
  if (cut.bytes > 0) burst.region = piece.payload.region;
  burst.offset = piece.payload.offset + piece.offset;
  parts_.keys.protect(burst, space, key);
  batch.add(burst);

  sent->data = true;
  sent->retransmission = piece.retransmission;
  sent->asks = (flags & kFlagAckNow) != 0;
  sent->later = (flags & kFlagAckLater) != 0 && piece.offset + cut.bytes == piece.message_bytes;
  sent->header_bytes = parts_.keys.data_header_bytes();
  sent->record = {piece.message, piece.sequence, piece.offset, cut.first(),
                  cut.last(),    piece.channel,  false,        piece.original};
  count(now, piece, *sent, quota);
  parts_.sender.sent(now, quota.path);
  return SendResult::kSent;
}

SendResult BurstSender::send_with_frames(Nanos now, TxBatch& batch, const Piece& piece,
                                         const SendQuota& quota) {
  SentBurst* sent = parts_.sender.record(quota.path, 1);
  if (sent == nullptr) return SendResult::kNothing;
  PacketKey* key = next_send_key(parts_, now, 1);
  std::byte* space = batch.header_space();
  const bool later = piece.ack_policy == AckPolicy::kDeferred && !piece.retransmission;
  ConnectionHeader header = packet_header(parts_, now, PacketType::kControl, quota.path,
                                          kFlagNumbered | (later ? kFlagAckLater : uint8_t{0}));
  header.number = sent->first_number;
  write_connection_header(header, space);
  const size_t left =
      quota.datagram_bytes - kConnectionHeaderBytes - piece.length - parts_.keys.tag_bytes();
  const size_t room = std::min<size_t>(left, kControlBytes);
  Writer writer({space + kConnectionHeaderBytes, room});
  Writer frames({space + kConnectionHeaderBytes, room - kMessageFrameBytes});
  control_.write_reports(now, frames);
  control_.write_queued(*sent, frames);
  writer.skip(static_cast<size_t>(frames.position() - writer.position()));
  write_message({piece.channel, piece.sequence}, writer);

  const auto header_bytes = static_cast<size_t>(writer.position() - space);
  TxBurst burst = single_packet(parts_, header_bytes, quota.path, space);
  burst.key = key;
  burst.ecn_capable = true;
  burst.payload_bytes = burst.last_payload_bytes = piece.length;
  if (piece.length > 0) burst.region = piece.payload.region;
  burst.offset = piece.payload.offset;
  batch.add(burst);
  sent->data = true;
  sent->retransmission = piece.retransmission;
  sent->later = later;
  sent->header_bytes = burst.header_bytes + parts_.keys.tag_bytes();
  sent->record = {piece.message, piece.sequence, 0,     piece.length,
                  piece.length,  piece.channel,  false, {}};
  count(now, piece, *sent, quota);
  parts_.sender.sent(now, quota.path);
  return SendResult::kSent;
}

uint8_t BurstSender::flags_of(const Piece& piece, uint32_t bytes, const SendQuota& quota) const {
  if (piece.retransmission) return kFlagAckNow | kFlagRetransmission;
  AckRules::Burst burst;
  burst.window_ends = parts_.sender.worth_asking(bytes, quota.last_for_now);
  burst.ends_message = piece.offset + bytes == piece.message_bytes;
  burst.large_message = piece.message_bytes > AckRules::kLargeMessage;
  burst.deferred = piece.ack_policy == AckPolicy::kDeferred;
  burst.rest_leaves = !burst.window_ends && !burst.ends_message && rest_may_leave(piece, quota);
  switch (AckRules::request_for(burst)) {
    case AckRules::Request::kNow:
      return kFlagAckNow;
    case AckRules::Request::kLater:
      return kFlagAckLater;
    case AckRules::Request::kNone:
      break;
  }
  return 0;
}

// Whether the rest of a message may leave before anything is acknowledged.
bool BurstSender::rest_may_leave(const Piece& piece, const SendQuota& quota) const {
  const uint64_t rest = piece.message_bytes - piece.offset;
  if (rest > kMostDeferredBytes) return false;
  const uint64_t header = parts_.keys.data_header_bytes();
  const uint64_t segments = rest / (quota.datagram_bytes - header) + 1;
  return parts_.sender.window_holds(rest + segments * header, segments);
}

void BurstSender::count(Nanos now, const Piece& piece, const SentBurst& sent,
                        const SendQuota& quota) {
  const DataRecord& record = sent.record;
  const uint32_t bytes = (sent.count - 1u) * record.step + record.last;
  parts_.outgoing.take(piece, bytes);
  if (parts_.flow_control != nullptr) parts_.flow_control->on_sent(sent);
  ConnectionStatistics& statistics = parts_.statistics;
  statistics.payload_bytes_sent += bytes;
  statistics.segments_sent += sent.count;
  if (piece.retransmission) {
    statistics.payload_bytes_retransmitted += bytes;
    statistics.segments_retransmitted += sent.count;
  }
  parts_.shared.observer.emit(events::BurstSent{now, parts_.identity.id, quota.path,
                                                sent.first_number, sent.count, bytes,
                                                piece.retransmission});
}

}  // namespace heddle::transport
