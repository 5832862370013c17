// Which control packets are due, and what each contains.
#include "transport/connection/control_sender.h"

#include <algorithm>

#include "transport/connection/packet_writer.h"

namespace heddle::transport {

SendResult ControlSender::send(Nanos now, TxBatch& batch) {
  SendController& sender = parts_.sender;
  Purpose purpose{.ping = true};
  while (batch.has_room(TxBatch::kLargestPacket) &&
         sender.poll_size_probe(now, purpose.path, purpose.padded_to)) {
    const SendResult sent = write_packet(now, batch, purpose);
    if (sent == SendResult::kFull) return sent;
    if (sent == SendResult::kNothing) break;
  }
  purpose.padded_to = 0;
  while (due(now)) {
    if (!batch.has_room(kControlBytes)) return SendResult::kFull;
    const bool probe = sender.poll_probe(purpose.path);
    if (probe && parts_.payload->claims_probe(purpose.path)) {
      parts_.payload->send_probe(now, batch, purpose.path);
      continue;
    }
    if (!probe) purpose.path = sender.control_path();
    purpose.ping = probe || parts_.keep_alive.probe_due();
    if (!probe) parts_.keep_alive.note_probe_sent();
    const SendResult sent = write_packet(now, batch, purpose);
    if (sent != SendResult::kSent) return sent;
  }
  return SendResult::kSent;
}

// Each on another path, since one of them may be dead.
bool ControlSender::send_final_frames(Nanos now, TxBatch& batch, Close& close) {
  if (parts_.acks.paths() == 0) parts_.acks.open(1);
  const uint16_t paths = std::max<uint16_t>(parts_.sender.datagram_paths(), 1);
  for (; close.final_frames_left() > 0; close.note_final_frame_sent()) {
    Purpose purpose{.path = static_cast<uint16_t>(close.final_frames_left() % paths)};
    purpose.final_close = close.final_reason();
    if (write_packet(now, batch, purpose) == SendResult::kFull) return true;
  }
  return false;
}

// Acknowledgements if there are any, then frames. A probe of a size, or of a path that is suspect,
// carries nothing else: it is likely to be lost.
SendResult ControlSender::write_packet(Nanos now, TxBatch& batch, const Purpose& purpose) {
  SendController& sender = parts_.sender;
  const bool sizes = purpose.padded_to != 0;
  const uint32_t limit = std::max(kControlBytes, purpose.padded_to);
  if (!batch.has_room(limit)) return SendResult::kFull;
  const bool wants_number = !purpose.final_close && (purpose.ping || !parts_.control.empty());
  // What is in flight on a path that is probed may be missing.
  const bool asks = purpose.ping && sender.in_flight_on(purpose.path);
  SentBurst* sent = wants_number ? sender.record(purpose.path, 1) : nullptr;
  if (sent == nullptr && sizes) return SendResult::kNothing;
  const bool numbered = sent != nullptr;
  PacketKey* key = next_send_key(parts_, now, 1);
  const uint32_t room = limit - parts_.keys.tag_bytes();
  std::byte* space = batch.header_space();
  const unsigned flags = numbered ? kFlagNumbered | (asks ? kFlagAckNow : 0u) : 0u;
  ConnectionHeader header =
      packet_header(parts_, now, PacketType::kControl, purpose.path, static_cast<uint8_t>(flags));
  header.number = numbered ? sent->first_number : parts_.keys.next_unnumbered();
  write_connection_header(header, space);
  Writer writer({space + kConnectionHeaderBytes, room - kConnectionHeaderBytes});
  if (numbered) {
    sent->asks = asks;
    sent->later = !asks;
    sent->sizes_path = sizes;
    sent->header_bytes = purpose.padded_to;
  }
  write_frames(now, purpose, sent, writer);
  if (numbered) sender.sent(now, purpose.path);
  TxBurst burst = single_packet(parts_, room - writer.left(), purpose.path, space);
  burst.key = key;
  burst.ecn_capable = numbered;
  burst.tests_path = purpose.ping || sizes;
  batch.add(burst);
  if (!wants_number || numbered) return SendResult::kSent;
  parts_.control.retry_at(now + millis(1));
  return SendResult::kNothing;
}

void ControlSender::write_frames(Nanos now, const Purpose& purpose, SentBurst* sent,
                                 Writer& writer) {
  const bool sizes = purpose.padded_to != 0;
  const bool bare = sizes || (purpose.ping && !parts_.sender.trusts(purpose.path));
  // First: the others take all the room that they find.
  if (sent != nullptr && purpose.ping) writer.put(static_cast<uint8_t>(FrameType::kPing));
  if (!bare) write_reports(now, writer);
  if (purpose.final_close) write_close(*purpose.final_close, writer);
  if (sent == nullptr) return;
  if (!bare) write_queued(*sent, writer);
  if (sizes) writer.put_zeros(writer.left());
}

void ControlSender::write_reports(Nanos now, Writer& writer) {
  if (parts_.acks.write(now, parts_.own_window(), writer)) ++parts_.statistics.acks_sent;
  parts_.reports_due = false;
  extensions_.write_frames(now, writer);
}

void ControlSender::write_queued(SentBurst& sent, Writer& writer) {
  parts_.control.write(sent, writer,
                       [this](ControlRecord& record, Writer& to) { write_record(record, to); });
}

void ControlSender::write_record(ControlRecord& record, Writer& writer) {
  switch (record.type) {
    case FrameType::kGrant:
      write_grant({record.channel, record.sequence, record.count, record.capacity}, writer);
      return;
    case FrameType::kCancelSend:
    case FrameType::kCancelReceive:
    case FrameType::kDelivered:
      write_cancel(record.type,
                   {record.channel, record.sequence, static_cast<CancelReason>(record.reason)},
                   writer);
      return;
    case FrameType::kClose:
      write_close(static_cast<CloseReason>(record.reason), writer);
      return;
    default:
      extensions_.write_record(record, writer);
  }
}

}  // namespace heddle::transport
