// What leaves: first one burst of data, then what control packets are due, then more data until the
// window, the pacer or the batch says stop. So a reply is not kept waiting by its acknowledgement,
// nor the reverse.
#include <algorithm>
#include <limits>

#include "transport/connection/connection.h"

namespace heddle::transport {

using events::ConnectionState;

namespace {

// Control packets stay below every path's size.
constexpr uint32_t kControlBytes = SendController::kBaseDatagram;
// No more of a message goes without being told of: what is in flight is remembered in records.
constexpr uint64_t kMostUntold = 512 * 1024;
// The largest message that shares its packet with other frames, where the path passes so much:
// acknowledgements and grants must find room beside it.
constexpr uint32_t kMessageBytes = 4096;
constexpr uint32_t kRoomBesideMessage = 380;

}  // namespace

void Connection::write_record(ControlRecord& record, Writer& writer) {
  const auto reason = static_cast<CancelReason>(record.reason);
  PlacedGrantFrame placed;
  switch (record.type) {
    case FrameType::kPlacedGrant:
      if (incoming_.describe(record.channel, record.sequence, placed)) {
        write_placed_grant(placed, writer);
        return;
      }
      record.type = FrameType::kGrant;  // over by now: only that it was posted matters
      [[fallthrough]];
    case FrameType::kGrant:
      write_grant({record.channel, record.sequence, record.count, record.capacity}, writer);
      return;
    case FrameType::kCancelSend:
    case FrameType::kCancelReceive:
    case FrameType::kDelivered:
      write_cancel(record.type, {record.channel, record.sequence, reason}, writer);
      return;
    case FrameType::kDemand:
      write_demand(credit_.demand(), writer);
      return;
    case FrameType::kFenced:
    case FrameType::kAskFence:
      write_fence(record.type, {record.channel, static_cast<uint16_t>(record.capacity)}, writer);
      return;
    case FrameType::kClose:
      write_close(static_cast<CloseReason>(record.reason), writer);
      return;
    default:
      CHECK(false);
  }
}

ConnectionHeader Connection::header(Nanos now, PacketType type, uint16_t path,
                                    uint8_t flags) const {
  ConnectionHeader header;
  header.type = type;
  header.flags = static_cast<uint8_t>(flags | (session_ ? session_->epoch_flags() : 0));
  header.path = path;
  header.connection = peer_wire_id_;
  header.sent_at = now;
  header.reply_port = shared_.options.reply_port;
  return header;
}

// A burst of one packet without payload.
TxBurst Connection::single(size_t bytes, uint16_t path, const std::byte* packet) const {
  TxBurst burst;
  burst.connection = id_;
  burst.to = peer_;
  burst.path = path;
  burst.segments = 1;
  burst.header_bytes = static_cast<uint16_t>(bytes);
  burst.headers = packet;
  burst.nic = nic_;
  if (pairs_) direct(burst);
  return burst;
}

bool Connection::transmit(Nanos now, TxBatch& batch) {
  if (state_ == ConnectionState::kHandshaking) {
    return init_at_ <= now && !send_init(now, batch);
  }
  if (over()) {
    return send_last_words(now, batch);
  }
  if (accept_due_ && !send_accept(batch)) return true;
  if (credit_.on()) update_demand(now);
  if (pairs_ && talk_between_nics(now, batch)) return true;
  if ((discovers_ || discovering_) && discover(now, batch)) return true;
  // Asked after everything that happens, and mostly nothing is due.
  if (!outgoing_.has_work() && !control_due(now) && !sender_.wants_size_probe()) {
    sender_.note_idle();
    return false;
  }
  Sent data = send_burst(now, batch);
  if (data == Sent::kFull) return true;
  if (send_control(now, batch) == Sent::kFull) return true;
  while (data == Sent::kOne) data = send_burst(now, batch);
  return data == Sent::kFull;
}

// True: the batch is full, and some are left.
bool Connection::send_last_words(Nanos now, TxBatch& batch) {
  if (acks_.paths() == 0) acks_.open(1);
  const uint16_t paths = std::max<uint16_t>(sender_.first_chunk_path(), 1);
  for (; last_words_left_ > 0; --last_words_left_) {
    const auto path = static_cast<uint16_t>(last_words_left_ % paths);
    if (write_control(now, batch, path, false, 0) == Sent::kFull) return true;
  }
  return false;
}

Connection::Sent Connection::send_burst(Nanos now, TxBatch& batch) {
  Piece piece;
  if (!outgoing_.peek(piece)) {
    sender_.note_idle();
    return Sent::kNothing;
  }
  if (!batch.has_room(kMaxBurstSegments * data_header_bytes())) return Sent::kFull;
  // Datagrams may pass where no remote write does.
  if (piece.placed && !sender_.any_active()) outgoing_.take_by_datagrams(piece);
  if (piece.placed) return send_chunk(now, batch, piece);
  if (!has_credit(piece)) return Sent::kNothing;
  SendQuota quota;
  const bool may = chunk_bytes_ != 0 ? sender_.poll_datagram_quota(now, quota)
                                     : sender_.poll_quota(now, shared_.random, quota);
  if (!may) return Sent::kNothing;
  const uint32_t step = quota.datagram_bytes - kDataHeaderBytes - tag_bytes();
  const uint32_t needed = std::max((piece.length + step - 1) / step, 1u);
  const uint32_t segments = segments_with_credit(piece, std::min(needed, quota.segments), step);
  const uint32_t bytes = std::min(piece.length, segments * step);
  const bool company = !frames_.empty() || acks_.pending() || chunk_acks_.pending();
  const uint32_t shared = kConnectionHeaderBytes + bytes + kRoomBesideMessage + tag_bytes();
  if (company && bytes == piece.message_bytes && bytes <= kMessageBytes &&
      shared <= quota.datagram_bytes && piece.original.number == 0) {
    return send_message(now, batch, piece, quota);
  }
  SentBurst* run = sender_.record(quota.path, static_cast<uint8_t>(segments));
  if (run == nullptr) return Sent::kNothing;

  const uint8_t flags = flags_of(piece, bytes, quota);
  const bool ack_now = (flags & kFlagAckNow) != 0;
  SealKey* seal = seal_next(now, segments);
  DataHeader first;
  first.base = header(now, PacketType::kData, quota.path, flags);
  first.base.number = run->first_number;
  if (piece.original.number != 0) {
    first.base.type = PacketType::kRepeat;
    first.base.sent_at = pack(piece.original);
  }
  first.channel = piece.channel;
  first.sequence = piece.sequence;
  first.offset = piece.offset;
  first.message_bytes = piece.message_bytes;
  const uint32_t last = bytes - (segments - 1) * step;
  std::byte* space = batch.header_space();
  const uint32_t stride = tags_headers() ? data_header_bytes() : kDataHeaderBytes;
  write_data_row(first, segments, {step, stride}, space);
  TxBurst burst = single(stride, quota.path, space);
  burst.segments = static_cast<uint16_t>(segments);
  burst.ecn_capable = true;
  burst.payload_bytes = segments > 1 ? step : last;
  burst.last_payload_bytes = last;
  if (bytes > 0) burst.region = piece.payload.region;
  burst.offset = piece.payload.offset + piece.offset;
  protect(burst, space, seal);
  batch.add(burst);

  run->data = true;
  run->repeat = piece.repeat;
  run->asks = ack_now;
  run->later = (flags & kFlagAckLater) != 0 && piece.offset + bytes == piece.message_bytes;
  run->header_bytes = kDataHeaderBytes + tag_bytes();
  run->row = {piece.message, piece.sequence, piece.offset, segments > 1 ? step : last,
              last,          piece.channel,  false,        piece.original};
  count_sent(now, piece, *run, quota.path, bytes);
  sender_.sent(now, quota.path);
  return Sent::kOne;
}

uint8_t Connection::flags_of(const Piece& piece, uint32_t bytes, const SendQuota& quota) const {
  if (piece.repeat) return kFlagAckNow | kFlagRepeat;
  const bool later = piece.wish == AckWish::kLater;
  const bool end_is_told = piece.message_bytes > AckMaker::kEndIsToldAbove;
  const bool ends = piece.offset + bytes == piece.message_bytes;
  const bool asks = sender_.worth_asking(bytes, quota.last_for_now);
  if ((ends && end_is_told && !later) || asks) return kFlagAckNow;
  // Before its end nobody waits for what tells of these bytes alone where the end leaves without
  // that, and is told of.
  const bool unawaited = ends ? later : (later || end_is_told) && rest_leaves(piece, quota);
  return unawaited ? kFlagAckLater : uint8_t{0};
}

// Whether what is left of a message may leave before anything is acknowledged.
bool Connection::rest_leaves(const Piece& piece, const SendQuota& quota) const {
  const uint64_t rest = piece.message_bytes - piece.offset;
  if (rest > kMostUntold) return false;
  const uint64_t header = kDataHeaderBytes + tag_bytes();
  const uint64_t segments = rest / (quota.datagram_bytes - header) + 1;
  return sender_.window_holds(rest + segments * header, segments);
}

void Connection::count_sent(Nanos now, const Piece& piece, const SentBurst& run, uint16_t path,
                            uint32_t bytes) {
  outgoing_.take(piece, bytes);
  credit_.on_sent(cost_of(run, 0, run.count));
  statistics_.payload_bytes_sent += bytes;
  statistics_.segments_sent += run.count;
  if (piece.repeat) {
    statistics_.payload_bytes_repeated += bytes;
    statistics_.segments_repeated += run.count;
  }
  shared_.observer.emit(
      events::BurstSent{now, id_, path, run.first_number, run.count, bytes, piece.repeat});
}

// A small message in one packet with the acknowledgements and frames that wait: a reply costs one
// packet then.
Connection::Sent Connection::send_message(Nanos now, TxBatch& batch, const Piece& piece,
                                          const SendQuota& quota) {
  SentBurst* run = sender_.record(quota.path, 1);
  if (run == nullptr) return Sent::kNothing;
  SealKey* seal = seal_next(now, 1);
  std::byte* space = batch.header_space();
  const bool later = piece.wish == AckWish::kLater && !piece.repeat;
  ConnectionHeader start = header(now, PacketType::kControl, quota.path,
                                  kFlagNumbered | (later ? kFlagAckLater : uint8_t{0}));
  start.number = run->first_number;
  write_connection_header(start, space);
  const size_t left = quota.datagram_bytes - kConnectionHeaderBytes - piece.length - tag_bytes();
  const size_t room = std::min<size_t>(left, kControlBytes);
  Writer writer({space + kConnectionHeaderBytes, room});
  Writer frames({space + kConnectionHeaderBytes, room - kMessageFrameBytes});
  write_answers(now, frames);
  write_frames(*run, frames);
  writer.skip(static_cast<size_t>(frames.position() - writer.position()));
  write_message({piece.channel, piece.sequence}, writer);

  TxBurst burst = single(static_cast<size_t>(writer.position() - space), quota.path, space);
  burst.seal = seal;
  burst.ecn_capable = true;
  burst.payload_bytes = burst.last_payload_bytes = piece.length;
  if (piece.length > 0) burst.region = piece.payload.region;
  burst.offset = piece.payload.offset;
  batch.add(burst);
  run->data = true;
  run->repeat = piece.repeat;
  run->later = later;
  run->header_bytes = burst.header_bytes + tag_bytes();
  run->row = {piece.message, piece.sequence, 0,     piece.length,
              piece.length,  piece.channel,  false, {}};
  count_sent(now, piece, *run, quota.path, piece.length);
  sender_.sent(now, quota.path);
  return Sent::kOne;
}

// Frames that wait, as many as a record remembers and the space holds.
void Connection::write_frames(SentBurst& run, Writer& writer) {
  while (!frames_.empty() && run.control_count < SentBurst::kMaxControl &&
         writer.left() > kLargestFrameBytes) {
    run.control[run.control_count] = frames_.pop_front();
    write_record(run.control[run.control_count++], writer);
  }
  answers_under_way_ += answers_in(run);
  if (frames_.empty()) frames_due_at_ = Nanos::never();
}

// Of its frames, those that a peer can make this side send by asking.
uint32_t Connection::answers_in(const SentBurst& run) {
  uint32_t answers = 0;
  for (uint8_t i = 0; i < run.control_count; ++i) {
    const FrameType type = run.control[i].type;
    answers += type == FrameType::kDelivered || type == FrameType::kCancelReceive ? 1 : 0;
  }
  return answers;
}

bool Connection::control_due(Nanos now) const {
  return frames_due_at_ <= now || ping_due_ || sender_.wants_probe() || acks_.due(now) ||
         chunk_acks_.due(now) || account_.tell || !trimmed_.empty();
}

Connection::Sent Connection::send_control(Nanos now, TxBatch& batch) {
  uint16_t path = 0;
  uint32_t bytes = 0;
  while (batch.has_room(TxBatch::kLargestPacket) && sender_.poll_size_probe(path, bytes)) {
    const Sent sent = write_control(now, batch, path, true, bytes);
    if (sent == Sent::kFull) return sent;
    if (sent == Sent::kNothing) break;
  }
  while (control_due(now)) {
    if (!batch.has_room(kControlBytes)) return Sent::kFull;
    const bool probe = sender_.poll_probe(path);
    if (probe && sender_.places(path)) {
      if (send_empty_chunk(now, batch, path) != Sent::kOne) return Sent::kNothing;
      continue;
    }
    if (!probe) path = sender_.control_path();
    const bool ping = probe || ping_due_;
    ping_due_ = ping_due_ && probe;
    const Sent sent = write_control(now, batch, path, ping, 0);
    if (sent != Sent::kOne) return sent;
  }
  return Sent::kOne;
}

// One control packet: acknowledgements if there are any, then frames. `padded_to` 0: as small as it
// is. A probe of a size, or of a path that was set aside, carries nothing else: it is likely to be
// lost. kNothing: no record could be lent, so that frames have to wait.
Connection::Sent Connection::write_control(Nanos now, TxBatch& batch, uint16_t path, bool ping,
                                           uint32_t padded_to) {
  const uint32_t limit = std::max(kControlBytes, padded_to);
  if (!batch.has_room(limit)) return Sent::kFull;
  const bool wants_number = !over() && (ping || !frames_.empty());
  // What is under way there may be missing.
  const bool asks = ping && sender_.in_flight_on(path);
  SentBurst* run = wants_number ? sender_.record(path, 1) : nullptr;
  if (run == nullptr && padded_to != 0) return Sent::kNothing;
  const bool bare = padded_to != 0 || (ping && !sender_.trusts(path));
  const bool numbered = run != nullptr;
  SealKey* seal = seal_next(now, 1);
  const uint32_t room = limit - tag_bytes();
  std::byte* space = batch.header_space();
  const unsigned flags = numbered ? kFlagNumbered | (asks ? kFlagAckNow : 0u) : 0u;
  ConnectionHeader start = header(now, PacketType::kControl, path, static_cast<uint8_t>(flags));
  if (run != nullptr) start.number = run->first_number;
  // A nonce of its own, of those without a packet number.
  if (run == nullptr && session_) start.number = session_->next_unnumbered();
  write_connection_header(start, space);
  Writer writer({space + kConnectionHeaderBytes, room - kConnectionHeaderBytes});
  if (!bare) write_answers(now, writer);
  if (over()) write_close(last_words_, writer);
  if (run != nullptr) {
    run->asks = asks;
    run->later = !asks;
    run->sizes_path = padded_to != 0;
    if (!bare) write_frames(*run, writer);
    if (ping) writer.put(static_cast<uint8_t>(FrameType::kPing));
    if (padded_to != 0) writer.put_zeros(writer.left());
    sender_.sent(now, path);
  }
  TxBurst burst = single(room - writer.left(), path, space);
  burst.seal = seal;
  burst.ecn_capable = numbered;
  batch.add(burst);
  if (!wants_number || numbered) return Sent::kOne;
  frames_due_at_ = std::max(frames_due_at_, now + millis(1));
  return Sent::kNothing;
}

void Connection::take_truncated() {
  ControlRecord record;
  while (outgoing_.poll_truncated(record)) tell(record);
}

bool Connection::predict(Prediction& prediction) const {
  if (expected_step_ == 0) return false;
  DataHeader expected;
  if (!incoming_.predict(expected.channel, expected.sequence, expected.offset, prediction.place)) {
    return false;
  }
  expected.base.type = PacketType::kData;
  expected.base.connection = wire_id_;
  write_data_header(expected, prediction.header.data());
  prediction.mask.fill(std::byte{0});
  const auto demand = [&prediction](size_t at, size_t bytes) {
    std::fill_n(prediction.mask.begin() + static_cast<ptrdiff_t>(at), bytes, std::byte{0xff});
  };
  demand(0, 1);
  demand(kConnectionAt, sizeof(WireId));
  demand(kChannelAt, 10);  // channel, sequence, offset
  prediction.payload_bytes = expected_step_;
  prediction.offset_at = kOffsetAt;
  prediction.header_bytes = tags_headers() ? data_header_bytes() : kDataHeaderBytes;
  return true;
}

}  // namespace heddle::transport
