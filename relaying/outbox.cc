// Outbox and Inbox: see outbox.h.
#include "relaying/outbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "relaying/params.h"

namespace heddle::relaying {
namespace {

// Payload of a message's frames, but for its last one.
uint64_t piece_bytes(uint64_t message_bytes) {
  return std::clamp<uint64_t>(message_bytes / params::kPiecesToCut, params::kLeastPayloadBytes,
                              params::kPayloadBytes);
}

}  // namespace

engine::Operation OperationBook::open() {
  entries_.emplace(++last_, Entry{});
  return {last_};
}

void OperationBook::finish(engine::Operation operation, const engine::Outcome& outcome) {
  const auto found = entries_.find(operation.id);
  if (found == entries_.end()) return;
  if (found->second.forgotten) {
    entries_.erase(found);
    return;
  }
  found->second.outcome = outcome;
  found->second.outcome.done = true;
}

engine::Outcome OperationBook::take(engine::Operation operation) {
  const auto found = entries_.find(operation.id);
  if (found == entries_.end()) {
    return {.done = true, .ok = false, .error = ErrorCode::kInvalid};
  }
  const engine::Outcome outcome = found->second.outcome;
  if (outcome.done) entries_.erase(found);
  return outcome;
}

void OperationBook::forget(engine::Operation operation) {
  const auto found = entries_.find(operation.id);
  if (found == entries_.end()) return;
  found->second.forgotten = true;
  if (found->second.outcome.done) entries_.erase(found);
}

// --- outbox ---

engine::Operation Outbox::post(engine::Channel channel, const engine::MessageBytes& bytes) {
  const engine::Operation operation = book_.open();
  const uint64_t piece = piece_bytes(bytes.bytes);
  const uint64_t frames = (bytes.bytes + piece - 1) / piece;
  ledger_.add(std::max<uint64_t>(frames, 1));
  messages_.push_back({operation, channel, bytes});
  return operation;
}

bool Outbox::take_next(Frame& frame) {
  const auto next = ledger_.take_next();
  if (!next) return false;
  const Message& message = messages_[next->message - first_];
  const uint64_t piece = piece_bytes(message.bytes.bytes);
  const uint64_t offset = next->frame * piece;
  const uint64_t bytes = std::min(message.bytes.bytes - offset, piece);
  frame.kind = FrameKind::kData;
  frame.piece = {.channel = message.channel,
                 .offset = static_cast<uint32_t>(offset),
                 .message_bytes = static_cast<uint32_t>(message.bytes.bytes),
                 .sequence = next->sequence};
  frame.payload = {message.bytes.start + offset, bytes};
  return true;
}

bool Outbox::confirm(uint64_t received) {
  if (!ledger_.confirm(received)) return false;
  finish_complete();
  return true;
}

bool Outbox::rewind(uint64_t received) {
  if (!ledger_.rewind(received)) return false;
  finish_complete();
  return true;
}

void Outbox::finish_complete() {
  while (ledger_.take_complete()) {
    const Message& oldest = messages_.front();
    book_.finish(oldest.operation, {.done = true, .ok = true, .bytes = oldest.bytes.bytes});
    messages_.pop_front();
    ++first_;
  }
}

void Outbox::fail_all(const engine::Outcome& outcome) {
  for (const Message& each : messages_) book_.finish(each.operation, outcome);
}

// --- inbox ---

engine::Operation Inbox::post(engine::Channel channel, const engine::MessageBytes& bytes) {
  const engine::Operation operation = book_.open();
  ChannelState& state = channels_[channel];
  state.receives.push_back({operation, bytes});
  ++posted_;
  while (!state.early.empty() && !state.receives.empty()) {
    const EarlyPiece early = std::move(state.early.front());
    state.early.pop_front();
    early_bytes_ -= early.payload.size() + params::kEarlyRecordBytes;
    place(state, early.piece, early.payload);
  }
  return operation;
}

bool Inbox::has_space() const {
  return early_bytes_ + params::kPayloadBytes + params::kEarlyRecordBytes <= params::kEarlyBytes;
}

bool Inbox::take(const Frame& frame) {
  if (frame.piece.channel >= params::kChannels) return false;
  switch (ledger_.take(frame.piece.sequence)) {
    case ReceiveLedger::Verdict::kDouble:
      return true;
    case ReceiveLedger::Verdict::kGap:
      return false;
    case ReceiveLedger::Verdict::kNew:
      break;
  }
  ChannelState& state = channels_[frame.piece.channel];
  const Piece& piece = frame.piece;
  if (piece.offset != state.arrived) return false;
  if (piece.offset > 0 && piece.message_bytes != state.message_bytes) return false;
  state.message_bytes = piece.message_bytes;
  state.arrived += frame.payload.size();
  if (state.arrived == piece.message_bytes) {
    state.arrived = 0;
    message_end_ = true;
  }
  if (!state.receives.empty()) {
    place(state, piece, frame.payload);
    return true;
  }
  early_bytes_ += frame.payload.size() + params::kEarlyRecordBytes;
  state.early.push_back({piece, {frame.payload.begin(), frame.payload.end()}});
  return true;
}

// A message that is larger than its receive fills none of it beyond its end, and fails it.
void Inbox::place(ChannelState& channel, const Piece& piece, std::span<const std::byte> payload) {
  const Receive& receive = channel.receives.front();
  const bool fits = piece.message_bytes <= receive.bytes.bytes;
  if (fits && !payload.empty()) {
    std::memcpy(receive.bytes.start + piece.offset, payload.data(), payload.size());
  }
  channel.placed += payload.size();
  if (channel.placed < piece.message_bytes) return;
  channel.placed = 0;
  const engine::Outcome outcome = {
      .done = true, .ok = fits, .error = ErrorCode::kTruncated, .bytes = piece.message_bytes};
  book_.finish(receive.operation, outcome);
  channel.receives.pop_front();
  --posted_;
}

void Inbox::fail_all(const engine::Outcome& outcome) {
  for (auto& [number, state] : channels_) {
    for (const Receive& each : state.receives) book_.finish(each.operation, outcome);
    state.receives.clear();
  }
}

}  // namespace heddle::relaying
