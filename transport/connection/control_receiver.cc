// The frames of control packets.
#include "transport/connection/control_receiver.h"

#include <algorithm>

namespace heddle::transport {

using events::DropReason;

bool ControlReceiver::read(Nanos now, Packet& packet, Verdict& verdict) {
  if (!admit(now, packet)) return false;
  // As a whole or not at all, so that a packet with many questions is answered one day.
  verdict.crowded =
      parts_.control.crowded(uint64_t{parts_.incoming.posted()} + parts_.outgoing.posted());
  parts_.outgoing.begin_packet();
  if (read_frames(now, packet, verdict)) return true;
  filter_.drop(now, DropReason::kBadField);
  return false;
}

bool ControlReceiver::admit(Nanos now, Packet& packet) {
  ConnectionHeader& header = packet.header;
  header = read_connection_header(packet.bytes.data());
  const bool keyed = parts_.keys.active();
  if (keyed) header.flags &= kKnownFlags;  // the epoch was needed to find the key only
  const bool numbered = (header.flags & kFlagNumbered) != 0;
  if (header.path >= parts_.acks.paths() || (header.flags & ~kKnownFlags) != 0) {
    filter_.drop(now, DropReason::kBadField);
    return false;
  }
  if (numbered && filter_.is_impossible(now, header, header.number)) return false;
  if (keyed && filter_.is_replay(now, header)) return false;
  parts_.keep_alive.on_heard(now);
  return !numbered || !filter_.is_duplicate(now, header.path, header.number, header.number);
}

void ControlReceiver::conclude(Nanos now, const Packet& packet, const Verdict& verdict) {
  const ConnectionHeader& header = packet.header;
  const bool open = !verdict.ends_connection();
  if (verdict.acknowledges && open) parts_.sender.after_acks(now);
  if (verdict.refused) filter_.drop(now, DropReason::kOverWindow);
  const bool numbered = (header.flags & kFlagNumbered) != 0;
  if (!numbered || !open || verdict.refused || verdict.comes_again) return;
  parts_.acks.note(now, header,
                   {.low = header.number,
                    .high = header.number,
                    .ecn = packet.run.ecn,
                    .bytes = verdict.message_bytes});
  if (verdict.message_bytes > 0 && parts_.flow_control != nullptr) {
    parts_.flow_control->on_arrival(now, verdict.datagram_bytes, 1, false);
  }
}

bool ControlReceiver::read_frames(Nanos now, const Packet& packet, Verdict& verdict) {
  Reader reader(packet.bytes.subspan(kConnectionHeaderBytes));
  Nanos made_at;
  while (reader.left() > 0 && !verdict.ends_connection()) {
    const auto type = static_cast<FrameType>(reader.get<uint8_t>());
    bool good = true;
    if (type == FrameType::kPadding) return true;
    if (type == FrameType::kMessage) return read_message_frame(now, reader, packet, verdict);
    if (type == FrameType::kAckTimes) {
      AckTimes times;
      good = read_ack_times(reader, times);
      if (!good) return false;
      made_at = times.made_at;
      parts_.sender.set_peer_window(times.window_bytes);
    } else if (type == FrameType::kAck) {
      good = read_ack_frame(now, made_at, reader, verdict);
    } else {
      good = read_frame(now, type, reader, packet, verdict);
    }
    if (!good) return false;
  }
  return true;
}

bool ControlReceiver::read_ack_frame(Nanos now, Nanos made_at, Reader& reader, Verdict& verdict) {
  AckFrame frame;
  if (!read_ack(reader, frame)) return false;
  frame.path = parts_.payload->path_named(frame.path);
  if (!parts_.sender.on_ack(now, made_at, frame)) {
    verdict.violation = "the peer acknowledged a packet that was never sent to it";
    return true;
  }
  ++parts_.statistics.acks_received;
  verdict.acknowledges = true;
  if (parts_.flow_control != nullptr) parts_.flow_control->on_ack(now);
  return true;
}

// The last frame of its packet: what follows in the datagram is the payload.
bool ControlReceiver::read_message_frame(Nanos now, Reader& reader, const Packet& packet,
                                         Verdict& verdict) {
  const RxRun& run = packet.run;
  MessageFrame frame;
  if (!read_message(reader, frame) || (packet.header.flags & kFlagNumbered) == 0) return false;
  const uint32_t whole =
      packet.index + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
  DataBurst burst;
  burst.header_bytes = static_cast<uint32_t>(packet.bytes.size() - reader.left());
  burst.header.base = packet.header;
  burst.header.channel = frame.channel;
  burst.header.sequence = frame.sequence;
  burst.header.message_bytes = burst.step = burst.last = whole - burst.header_bytes;
  burst.segments = 1;
  burst.run = &run;
  burst.first = packet.index;
  const BurstVerdict accepted = parts_.incoming.accept(burst);
  if (accepted.drop) filter_.drop(now, *accepted.drop);
  verdict.comes_again |= !accepted.acknowledge;
  verdict.message_bytes = std::max(burst.last, 1u);
  verdict.datagram_bytes = whole + parts_.keys.tag_bytes();
  parts_.statistics.segments_received += accepted.acknowledge ? 1 : 0;
  parts_.share.note_payload(now);
  return true;
}

// A frame that exceeds what this side remembers of messages to come is left out, and its packet is
// not acknowledged: it comes again. Those beside it count, or both sides could wait for each other.
bool ControlReceiver::read_frame(Nanos now, FrameType type, Reader& reader, const Packet& packet,
                                 Verdict& verdict) {
  Outgoing& outgoing = parts_.outgoing;
  GrantFrame grant;
  CancelFrame cancel;
  CloseReason reason{};
  FrameResult result;
  switch (type) {
    case FrameType::kGrant:
      if (!read_grant(reader, grant)) return false;
      verdict.refused |= sends_on(grant.channel) && !outgoing.on_grant(grant);
      return true;
    case FrameType::kCancelSend:
      // Each is answered; a peer that keeps to the limits does not ask faster than answers leave.
      if (!read_cancel(reader, cancel)) return false;
      verdict.comes_again |= verdict.crowded;
      verdict.refused |=
          !verdict.crowded && !parts_.incoming.on_cancel_send(cancel, parts_.control.records());
      parts_.control.send_by({});
      return true;
    case FrameType::kDelivered:
      if (!read_cancel(reader, cancel)) return false;
      verdict.refused |= sends_on(cancel.channel) && !outgoing.on_delivered(cancel);
      return true;
    case FrameType::kCancelReceive:
      if (!read_cancel(reader, cancel)) return false;
      verdict.refused |= sends_on(cancel.channel) && !outgoing.on_cancel_receive(cancel);
      return true;
    case FrameType::kClose:
      if (!read_close(reader, reason)) return false;
      verdict.close = reason;
      return true;
    case FrameType::kPing:
      return true;
    default:
      result = extensions_.on_frame(now, type, reader, {packet.run, verdict.crowded});
      verdict.violation = result.violation;
      verdict.refused |= result.refused;
      verdict.comes_again |= result.comes_again;
      return result.readable;
  }
}

}  // namespace heddle::transport
