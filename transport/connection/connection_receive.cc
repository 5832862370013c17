// What arrives for a connection: rows of data, and control packets with their frames.
#include <algorithm>

#include "transport/connection/connection.h"

namespace heddle::transport {

using events::CloseCause;
using events::ConnectionState;
using events::DropReason;

// Judges packet numbers; says why not where they do not count.
bool Connection::known_number(Nanos now, const ConnectionHeader& header, uint64_t low,
                              uint64_t high) {
  switch (acks_.judge(header.path, low, high)) {
    case Novelty::kNew:
      return false;
    case Novelty::kDuplicate:
      shared_.observer.drop(now, id_, DropReason::kDuplicate);
      break;
    case Novelty::kTooOld:
      shared_.observer.drop(now, id_, DropReason::kTooOld);
      break;
    case Novelty::kMixed:
      return false;
  }
  statistics_.segments_duplicate += high - low + 1;
  if (!session_) acks_.note_duplicate(now, header.path);
  return true;
}

// Whether no packet of the peer can have this number: then it is dropped, and counted.
bool Connection::impossible_number(Nanos now, const ConnectionHeader& header, uint64_t last) {
  if (header.path >= acks_.paths() || header.number == 0 || header.number > INT64_MAX) {
    shared_.observer.drop(now, id_, DropReason::kBadField);
    return true;
  }
  if (acks_.too_far(header.path, last)) {
    shared_.observer.drop(now, id_, DropReason::kTooFarAhead);
    return true;
  }
  return false;
}

void Connection::handle_data(Nanos now, const DataRow& row) {
  const ConnectionHeader& base = row.header.base;
  if (state_ == ConnectionState::kHandshaking || over()) {
    shared_.observer.drop(now, id_, DropReason::kClosed);
    return;
  }
  const uint64_t last = base.number + row.segments - 1;
  if (impossible_number(now, base, last)) return;
  if (row.segments > 1 && acks_.judge(base.path, base.number, last) == Novelty::kMixed) {
    handle_row_apart(now, row);
    return;
  }
  // A sealed packet that comes again may be anybody's replay: it says nothing new of the peer.
  if (session_ && known_number(now, base, base.number, last)) return;
  heard(now);
  if (!session_ && known_number(now, base, base.number, last)) return;
  const RowVerdict verdict = incoming_.accept(row);
  if (verdict.drop) {
    shared_.observer.drop(now, id_, *verdict.drop);
    if (*verdict.drop == DropReason::kDuplicate) statistics_.segments_duplicate += row.segments;
  }
  if (!verdict.acknowledge) return;
  statistics_.segments_received += row.segments;
  if (row.segments > 1) expected_step_ = row.step;
  const uint64_t bytes = uint64_t{row.segments - 1} * row.step + row.last;
  acks_.note(
      now, base,
      {.low = base.number,
       .high = last,
       .ecn = row.run->ecn,
       .bytes = std::max<uint64_t>(bytes, 1),
       .within_message = row.header.offset + bytes < row.header.message_bytes,
       .completes = verdict.completes && row.header.message_bytes > AckMaker::kEndIsToldAbove,
       .round_trip = sender_.smoothed_rtt()});
  count_arrival(now, bytes + uint64_t{data_header_bytes()} * row.segments, row.segments,
                (base.flags & kFlagRepeat) != 0);
  watch_fences(now);
  count_receiving(now);
}

// Part of the row was here before: its segments are taken one by one.
void Connection::handle_row_apart(Nanos now, const DataRow& row) {
  for (uint32_t i = 0; i < row.segments; ++i) {
    DataRow one = row;
    one.header.base.number += i;
    one.header.offset += i * row.step;
    one.first = row.first + i;
    one.segments = 1;
    one.step = one.last = i + 1 == row.segments ? row.last : row.step;
    handle_data(now, one);
  }
}

void Connection::count_receiving(Nanos now) {
  payload_at_ = now;
  if (receiving_) return;
  receiving_ = true;
  ++shared_.receiving;
}

void Connection::handle_control(Nanos now, const RxRun& run, uint32_t index,
                                std::span<const std::byte> packet) {
  if (packet.size() < kConnectionHeaderBytes) {
    shared_.observer.drop(now, id_, DropReason::kBadLength);
    return;
  }
  if (state_ == ConnectionState::kHandshaking || over()) {
    shared_.observer.drop(now, id_, DropReason::kClosed);
    return;
  }
  ConnectionHeader header = read_connection_header(packet.data());
  if (session_) header.flags &= kKnownFlags;  // the epoch has been of use
  const bool numbered = (header.flags & kFlagNumbered) != 0;
  if (header.path >= acks_.paths() || (header.flags & ~kKnownFlags) != 0) {
    shared_.observer.drop(now, id_, DropReason::kBadField);
    return;
  }
  if (numbered && impossible_number(now, header, header.number)) return;
  if (session_ && !new_sealed(now, header, numbered)) return;
  heard(now);
  if (numbered && known_number(now, header, header.number, header.number)) return;
  Reader reader(packet.subspan(kConnectionHeaderBytes));
  // As a whole or not at all, so that a packet with many questions is answered one day.
  const bool crowded =
      frames_.size() + answers_under_way_ > kMostAnswers + incoming_.posted() + outgoing_.posted();
  ControlInput input{run, index, packet, header, crowded};
  outgoing_.begin_packet();
  if (!handle_frames(now, reader, input)) {
    shared_.observer.drop(now, id_, DropReason::kBadField);
    return;
  }
  if (input.acknowledges && !over()) sender_.after_acks(now);
  if (input.refused) shared_.observer.drop(now, id_, DropReason::kOverWindow);
  if (numbered && !over() && !input.refused && !input.comes_again) {
    acks_.note(now, header,
               {.low = header.number,
                .high = header.number,
                .ecn = run.ecn,
                .bytes = input.message_bytes});
    if (input.message_bytes > 0) count_arrival(now, input.datagram_bytes, 1, false);
  }
  if (close_acked_ && !over()) {
    finish(now, CloseCause::kGraceful, {ErrorCode::kClosed, "connection closed", "", ""});
  }
  take_truncated();
  take_fences();
  advance_close(now);
}

// Whether a sealed control packet is no replay.
bool Connection::new_sealed(Nanos now, const ConnectionHeader& header, bool numbered) {
  if (numbered) return !known_number(now, header, header.number, header.number);
  if (!session_->is_new(header.number)) {
    shared_.observer.drop(now, id_, DropReason::kDuplicate);
    return false;
  }
  session_->note_unnumbered(header.number);
  return true;
}

bool Connection::handle_frames(Nanos now, Reader& reader, ControlInput& input) {
  Nanos made_at;
  while (reader.left() > 0 && !over()) {
    const auto type = static_cast<FrameType>(reader.get<uint8_t>());
    if (type == FrameType::kPadding) return true;
    if (type == FrameType::kMessage) return handle_message(now, reader, input);
    if (type == FrameType::kAckTimes) {
      AckTimes times;
      if (!read_ack_times(reader, times)) return false;
      made_at = times.made_at;
      sender_.set_peer_window(times.window_bytes);
    } else if (type == FrameType::kAck) {
      AckFrame frame;
      if (!read_ack(reader, frame)) return false;
      if (frame.path >= kFirstChunkPathName) {
        const uint32_t path =
            frame.path - kFirstChunkPathName + uint32_t{sender_.first_chunk_path()};
        frame.path = static_cast<uint16_t>(std::min<uint32_t>(path, UINT16_MAX));
      }
      if (!sender_.on_ack(now, made_at, frame)) {
        end_by_protocol_error(now, "the peer acknowledged a packet that was never sent to it");
        return true;
      }
      ++statistics_.acks_received;
      input.acknowledges = true;
      measure_for_credits(now);
    } else if (!handle_frame(now, type, reader, input)) {
      return false;
    }
  }
  return true;
}

// The last frame of its packet: what follows in the datagram is the payload.
bool Connection::handle_message(Nanos now, Reader& reader, ControlInput& input) {
  const RxRun& run = input.run;
  MessageFrame frame;
  if (!read_message(reader, frame) || (input.header.flags & kFlagNumbered) == 0) return false;
  const uint32_t whole =
      input.index + 1 == run.segments ? run.last_segment_bytes : run.segment_bytes;
  DataRow row;
  row.header_bytes = static_cast<uint32_t>(input.packet.size() - reader.left());
  row.header.base = input.header;
  row.header.channel = frame.channel;
  row.header.sequence = frame.sequence;
  row.header.message_bytes = row.step = row.last = whole - row.header_bytes;
  row.segments = 1;
  row.run = &run;
  row.first = input.index;
  const RowVerdict verdict = incoming_.accept(row);
  if (verdict.drop) shared_.observer.drop(now, id_, *verdict.drop);
  input.comes_again |= !verdict.acknowledge;
  input.message_bytes = std::max(row.last, 1u);
  input.datagram_bytes = whole + tag_bytes();
  statistics_.segments_received += verdict.acknowledge ? 1 : 0;
  count_receiving(now);
  return true;
}

// A frame that does not fit into what this side remembers of messages to come is left out, and its
// packet is not acknowledged: it comes again. Those beside it count, or both sides could wait for
// each other.
bool Connection::handle_frame(Nanos now, FrameType type, Reader& reader, ControlInput& input) {
  GrantFrame grant;
  PlacedGrantFrame placed;
  FenceFrame fence;
  CancelFrame cancel;
  CloseReason reason{};
  switch (type) {
    case FrameType::kGrant:
      if (!read_grant(reader, grant)) return false;
      input.refused |= sends_on(grant.channel) && !outgoing_.on_grant(grant);
      return true;
    case FrameType::kCancelSend:
      // Each is answered; a peer that keeps to the limits does not ask faster than answers leave.
      if (!read_cancel(reader, cancel)) return false;
      input.comes_again |= input.crowded;
      input.refused |= !input.crowded && !incoming_.on_cancel_send(cancel, frames_);
      if (!frames_.empty()) frames_due_at_ = {};
      return true;
    case FrameType::kDelivered:
      if (!read_cancel(reader, cancel)) return false;
      input.refused |= sends_on(cancel.channel) && !outgoing_.on_delivered(cancel);
      return true;
    case FrameType::kCancelReceive:
      if (!read_cancel(reader, cancel)) return false;
      input.refused |= sends_on(cancel.channel) && !outgoing_.on_cancel_receive(cancel);
      return true;
    case FrameType::kClose:
      if (!read_close(reader, reason)) return false;
      handle_close_frame(now, reason);
      return true;
    case FrameType::kPing:
      return true;
    case FrameType::kPlacedGrant:
      if (!read_placed_grant(reader, placed)) return false;
      input.refused |= sends_on(placed.channel) && !outgoing_.on_placed_grant(placed);
      return true;
    case FrameType::kNicProbe:
    case FrameType::kNicAnswer:
      return handle_nic_frame(now, type, reader, input);
    case FrameType::kDemand:
    case FrameType::kCredit:
      return handle_credit_frame(now, type, reader);
    case FrameType::kTrimmed:
      return handle_trim_frame(now, reader);
    case FrameType::kFenced:
    case FrameType::kAskFence:
      if (!read_fence(reader, fence)) return false;
      return handle_fence_frame(now, type, fence);
    default:
      return false;
  }
}

void Connection::handle_close_frame(Nanos now, CloseReason reason) {
  if (reason == CloseReason::kUnheard) {
    finish(now, CloseCause::kResetByPeer,
           {ErrorCode::kPeerDead, "connection lost", "the peer heard nothing from here any more",
            "look at the network from here to there, and at what kept this process from running"});
    return;
  }
  if (reason == CloseReason::kAborted || reason == CloseReason::kProtocolError) {
    finish(now, CloseCause::kResetByPeer,
           {ErrorCode::kClosed, "connection closed", "the peer gave it up", ""});
    return;
  }
  // Graceful: the peer has got all it sent acknowledged. One packet more tells it that we know.
  if (reason == CloseReason::kGraceful) say_last(CloseReason::kFinished);
  finish(now, CloseCause::kGraceful, {ErrorCode::kClosed, "connection closed", "by the peer", ""});
}

bool Connection::handle_reset(Nanos now, const ResetPacket& reset) {
  if (over() || state_ == ConnectionState::kHandshaking) return false;
  if (session_) return false;  // it proves nothing
  if (!sender_.awaits(reset.path, reset.number)) return false;
  if (close_sent_) {  // it has closed already, and its last words were lost
    finish(now, CloseCause::kGraceful, {ErrorCode::kClosed, "connection closed", "", ""});
    return true;
  }
  finish(now, CloseCause::kResetByPeer,
         {ErrorCode::kPeerDead, "connection lost", "the peer does not know it any more",
          "was the other side restarted?"});
  return true;
}

}  // namespace heddle::transport
