// A sequence number becomes an index, counted from the channel's oldest message, where it enters;
// one without order to that is refused there. Everything else works on indexes.
#include "transport/messages/outgoing.h"

#include <algorithm>
#include <optional>

#include "transport/wire/immediate.h"
#include "transport/wire/packet.h"

namespace heddle::transport {
namespace {

// An empty message occupies one byte of acknowledgement space.
uint32_t tracked(const OutMessage& message) { return std::max(message.length(), 1u); }

bool is_claimable(const OutMessage& message, const PeerLimits& limits) {
  return message.slot != kNoSlot && message.length() >= limits.claimable_from &&
         message.length() <= limits.claimable_to;
}

ControlRecord cancel_of(ChannelId channel, Sequence sequence) {
  const auto reason = static_cast<uint8_t>(CancelReason::kCancelled);
  return {FrameType::kCancelSend, reason, channel, 0, sequence, 0};
}

}  // namespace

void Outgoing::set_limits(const PeerLimits& limits) {
  limits_ = limits;
  for (size_t id = limits.max_channels; id < channels_.size(); ++id) {
    Channel& channel = channels_[id];
    for (size_t i = 0; i < channel.messages.size(); ++i) {
      give_up(pool_[channel.messages[i]], ErrorCode::kInvalid);
    }
    complete_front(channel);
  }
}

// Makes room for the receive `index` behind the oldest message. False: the peer violated the
// protocol: over all channels more than `max_posted` receives beyond the messages that arrived.
bool Outgoing::make_known(Channel& channel, uint64_t index) {
  if (index < channel.grants.size()) return true;
  const uint64_t posted = channel.messages.size();
  const uint64_t unmet = index + 1 - std::min(index + 1, posted);
  const uint64_t others = unmet_receives_ - channel.unmet();
  if (unmet > limits_.max_posted - others) return false;
  unmet_receives_ = static_cast<uint32_t>(others + unmet);
  while (channel.grants.size() <= index) channel.grants.push_back({});
  return true;
}

Outgoing::Channel* Outgoing::channel_for(ChannelId channel) {
  if (limits_.max_channels != 0 && channel >= limits_.max_channels) return nullptr;
  if (channel >= channels_.size()) channels_.resize(channel + 1u);
  return &channels_[channel];
}

OutMessage* Outgoing::find(ChannelId channel, Sequence sequence, uint32_t slot) {
  if (channel >= channels_.size()) return nullptr;
  Channel& c = channels_[channel];
  const int64_t index = c.head.steps_to(sequence).value_or(-1);
  if (index < 0 || index >= static_cast<int64_t>(c.messages.size())) return nullptr;
  const auto at = static_cast<size_t>(index);
  return c.messages[at] == slot ? &pool_[slot] : nullptr;
}

Result<void> Outgoing::post(ChannelId id, const PostedSend& send, uint32_t bound) {
  Channel* channel = channel_for(id);
  if (channel == nullptr) return fail(ErrorCode::kInvalid, "cannot send", "no such channel");
  if (send.payload.length > kMaxMessageBytes) {
    return fail(ErrorCode::kInvalid, "cannot send", "a message has at most 1 GiB",
                "send it in parts");
  }
  // Withdrawn messages use up receives too, and are announced when those are posted.
  const auto index = static_cast<int64_t>(channel->messages.size());
  const bool room = posted_ < bound && index - channel->known_to < int64_t{bound};
  const uint32_t slot = room ? pool_.lend() : kNoIndex;
  if (slot == kNoIndex) {
    return fail(ErrorCode::kExhausted, "cannot send", "too many operations are posted",
                "wait for completions");
  }
  OutMessage& message = pool_[slot];
  message.payload = send.payload;
  message.operation = send.operation;
  message.posted_at = send.at;
  message.ack_policy = send.ack_policy;
  message.channel = id;
  message.sequence = channel->head.moved_by(static_cast<int32_t>(index));
  const bool known = channel->unmet() > 0;
  if (known) --unmet_receives_;
  channel->messages.push_back(slot);
  ++posted_;
  if (known) apply_grant(slot, channel->grants[channel->messages.size() - 1]);
  complete_front(*channel);
  mark_ready(id, *channel);
  return {};
}

void Outgoing::mark_ready(ChannelId id, Channel& channel) {
  if (channel.ready) return;
  if (channel.next >= channel.messages.size()) return;
  channel.ready = true;
  ready_.push_back(id);
}

void Outgoing::apply_grant(uint32_t slot, const Grant& grant) {
  OutMessage& message = pool_[slot];
  if (grant.state == Grant::State::kUnknown || message.granted) return;
  message.granted = true;
  message.slot = grant.slot;
  if (message.sent_ahead) --ahead_;
  if (grant.state == Grant::State::kCancelled) {
    // The peer counts a withdrawn receive until it is notified of the end of its message.
    truncated_.push_back(cancel_of(message.channel, message.sequence));
    give_up(message, ErrorCode::kCancelled);
  } else if (message.length() > grant.capacity) {
    truncated_.push_back({FrameType::kCancelSend, static_cast<uint8_t>(CancelReason::kTruncated),
                          message.channel, 0, message.sequence, 0});
    give_up(message, ErrorCode::kTruncated);
  } else if (message.lost_ahead) {
    const uint32_t end = std::max(message.next, 1u);
    retransmissions_.push_back({slot, message.sequence, 0, end, pack(OriginalWrite{}),
                                Retransmission::kSentAhead, message.channel});
  }
}

void Outgoing::give_up(OutMessage& message, ErrorCode error) {
  if (message.failed) return;
  message.failed = true;
  message.error = error;
  abandoned_writes_ |= message.claimed;
}

bool Outgoing::poll_truncated(ControlRecord& record) {
  if (truncated_.empty()) return false;
  record = truncated_.pop_front();
  return true;
}

bool Outgoing::cancel(ChannelId id, OperationId operation, ControlRecord& record) {
  if (id >= channels_.size()) return false;
  Channel& channel = channels_[id];
  for (size_t i = 0; i < channel.messages.size(); ++i) {
    OutMessage& message = pool_[channel.messages[i]];
    if (message.operation != operation || message.failed) continue;
    if (message.withdrawing || message.acked.covered() == tracked(message)) return true;
    if (!message.started && message.sent_ahead) {  // it was to go ahead, and did not yet
      message.sent_ahead = false;
      if (!message.granted) --ahead_;
    }
    if (message.started || static_cast<int32_t>(i) < channel.known_to) {
      record = cancel_of(id, message.sequence);
    } else {
      keep_over_early(channel, {message.sequence, false});
    }
    // Once some of it was sent, only the peer knows whether it is too late: it answers with a
    // cancel of its own, or that the message was delivered. Until then nothing more is sent.
    message.withdrawing = message.started;
    if (!message.started) give_up(message, ErrorCode::kCancelled);
    complete_front(channel);
    return true;
  }
  return false;
}

bool Outgoing::on_delivered(const CancelFrame& delivered) {
  Channel* channel = channel_for(delivered.channel);
  if (channel == nullptr) return false;
  const std::optional<int32_t> index = channel->head.steps_to(delivered.sequence);
  if (!index) return false;
  if (*index < 0 || static_cast<size_t>(*index) >= channel->messages.size()) return true;
  OutMessage& message = pool_[channel->messages[static_cast<size_t>(*index)]];
  if (!message.withdrawing) return true;
  const uint64_t fresh = message.acked.add(0, tracked(message));
  abandoned_writes_ |= message.claimed && fresh > 0;
  acked_bytes_ += message.length() == 0 ? 0 : fresh;
  complete_front(*channel);
  return true;
}

bool Outgoing::has_work() const { return !retransmissions_.empty() || !ready_.empty(); }

bool Outgoing::peek(Piece& piece) { return peek_retransmission(piece) || peek_new(piece); }

bool Outgoing::peek_retransmission(Piece& piece) {
  while (!retransmissions_.empty()) {
    Retransmission& next = retransmissions_.front();
    OutMessage* message = find(next.channel, next.sequence, next.message);
    if (message == nullptr || message->failed || message->withdrawing) {
      retransmissions_.pop_front();
      continue;
    }
    next.start = static_cast<uint32_t>(message->acked.first_gap(next.start));
    if (next.start >= next.end) {
      retransmissions_.pop_front();
      continue;
    }
    const auto end = static_cast<uint32_t>(message->acked.first_covered(next.start, next.end));
    piece = Piece{next.message,      next.channel, next.sequence,
                  message->length(), next.start,   std::min(end, next.end) - next.start};
    piece.retransmission = true;
    piece.original = unpack_original(next.original);
    piece.payload = message->payload;
    if (message->length() == 0) piece.length = 0;
    return true;
  }
  return false;
}

// Whether bytes of the message may travel now: granted, or small enough to go ahead of the grant.
bool Outgoing::sendable(OutMessage& message) {
  if (message.granted || message.sent_ahead) return true;
  if (message.length() > limits_.eager_block_bytes || ahead_ >= limits_.eager_blocks) return false;
  message.sent_ahead = true;
  ++ahead_;
  return true;
}

bool Outgoing::peek_new(Piece& piece) {
  while (!ready_.empty()) {
    const ChannelId id = ready_.front();
    Channel& channel = channels_[id];
    if (channel.next < channel.messages.size()) {
      const uint32_t slot = channel.messages[channel.next];
      OutMessage& message = pool_[slot];
      const bool done = message.failed || message.withdrawing ||
                        (message.started && message.next == message.length());
      if (done) {
        ++channel.next;
        continue;
      }
      if (sendable(message)) {
        if (!message.started) message.claimable = is_claimable(message, limits_);
        piece = Piece{slot,
                      id,
                      message.sequence,
                      message.length(),
                      message.next,
                      message.length() - message.next};
        piece.claimable = message.claimable;
        piece.slot = message.slot;
        piece.ack_policy = message.ack_policy;
        piece.payload = message.payload;
        return true;
      }
    }
    channel.ready = false;  // until a grant or a post
    ready_.pop_front();
  }
  return false;
}

void Outgoing::take_by_datagrams(Piece& piece) {
  piece.claimable = pool_[piece.message].claimable = false;
}

void Outgoing::take(const Piece& piece, uint32_t bytes) {
  if (piece.retransmission) {
    Retransmission& next = retransmissions_.front();
    next.start += std::max(bytes, 1u);
    if (next.start >= next.end) retransmissions_.pop_front();
    return;
  }
  OutMessage& message = pool_[piece.message];
  message.started = true;
  message.claimed |= piece.claimable;
  message.next += bytes;
  if (message.next < message.length()) return;
  ++channels_[piece.channel].next;
  if (ready_.size() > 1) ready_.push_back(ready_.pop_front());  // channels take turns by message
}

// The peer has posted its receives up to this one: earlier messages occupy no eager block any more,
// and those withdrawn unsent are announced to the peer now.
void Outgoing::note_posted_there(ChannelId id, Channel& channel, int64_t index) {
  if (index < channel.known_to) return;
  channel.known_to = static_cast<int32_t>(index + 1);
  auto over = channel.over_early.begin();
  for (; over != channel.over_early.end(); ++over) {
    if (channel.index_of(over->sequence) >= channel.known_to) break;
    if (over->sent_ahead) {
      --ahead_;
    } else {
      truncated_.push_back(cancel_of(id, over->sequence));
    }
  }
  channel.over_early.erase(channel.over_early.begin(), over);
}

// In the order of their sequences, as their receives become known.
void Outgoing::keep_over_early(Channel& channel, const OverEarly& over) {
  auto at = channel.over_early.end();
  while (at != channel.over_early.begin() && over.sequence.known_steps_to((at - 1)->sequence) > 0) {
    --at;
  }
  channel.over_early.insert(at, over);
}

// What is known of the receive `index` behind the oldest message, for which there is room. False:
// it was known already.
bool Outgoing::grant_one(Channel& channel, uint32_t index, const Grant& grant) {
  Grant& known = channel.grants[index];
  if (known.state != Grant::State::kUnknown) return false;
  known = grant;
  if (index < channel.messages.size()) apply_grant(channel.messages[index], known);
  return true;
}

// `ahead`: how many eager blocks of the peer were in use before the frame.
void Outgoing::settle_grants(ChannelId id, Channel& channel, uint32_t ahead) {
  mark_ready(id, channel);
  complete_front(channel);
  if (ahead_ == ahead) return;
  // Blocks of the peer are free again, for any channel.
  for (size_t other = 0; other < channels_.size(); ++other) {
    mark_ready(static_cast<ChannelId>(other), channels_[other]);
  }
}

bool Outgoing::on_grant(const GrantFrame& grant) {
  Channel* channel = channel_for(grant.channel);
  if (channel == nullptr) return false;
  const std::optional<int32_t> first = channel->head.steps_to(grant.first_sequence);
  if (!first) return false;
  if (grant.count == 0) return true;
  const uint32_t ahead = ahead_;
  const int64_t end = int64_t{*first} + grant.count;
  if (end > 0 && !make_known(*channel, static_cast<uint64_t>(end - 1))) return false;
  note_posted_there(grant.channel, *channel, end - 1);
  const Grant given{Grant::State::kGranted, kNoSlot, grant.capacity};
  // What is over already (the grant is a repeated one) is passed in one step.
  for (int64_t i = std::max<int64_t>(*first, 0); i < end; ++i) {
    if (grant_one(*channel, static_cast<uint32_t>(i), given)) continue;
    if (regrants_left_ == 0) return false;
    --regrants_left_;
  }
  settle_grants(grant.channel, *channel, ahead);
  return true;
}

// The slot names another receive now, so the earlier grant no longer allows remote writes: its
// receive is over, or the new grant is an old one. Its payload travels as datagrams.
void Outgoing::withdraw_slot(uint8_t slot) {
  const RemotePlace& place = places_[slot];
  if (place.token.length == 0 || place.channel >= channels_.size()) return;
  Channel& channel = channels_[place.channel];
  const int64_t index = channel.head.steps_to(place.sequence).value_or(-1);
  if (index < 0 || index >= static_cast<int64_t>(channel.grants.size())) return;
  channel.grants[static_cast<size_t>(index)].slot = kNoSlot;
  if (index >= static_cast<int64_t>(channel.messages.size())) return;
  OutMessage& message = pool_[channel.messages[static_cast<size_t>(index)]];
  message.slot = kNoSlot;
  message.claimable = false;
}

bool Outgoing::on_placed_grant(const PlacedGrantFrame& grant) {
  Channel* channel = channel_for(grant.channel);
  if (channel == nullptr || limits_.claimable_to == 0 || grant.slot == kNoSlot) return false;
  const std::optional<int32_t> steps = channel->head.steps_to(grant.sequence);
  if (!steps) return false;
  const bool over = *steps < 0;
  const auto index = static_cast<uint32_t>(*steps);
  if (!over && !make_known(*channel, index)) return false;
  Grant given{Grant::State::kGranted, kNoSlot, grant.capacity};
  // A repeated grant must not overwrite what its slot means by now.
  if (!over && channel->grants[index].state == Grant::State::kUnknown) {
    if (places_.empty()) places_.resize(kNoSlot);
    withdraw_slot(grant.slot);
    places_[grant.slot] = {grant.token, grant.remote_offset, grant.sequence, grant.channel};
    given.slot = grant.slot;
  }
  const uint32_t ahead = ahead_;
  note_posted_there(grant.channel, *channel, *steps);
  if (!over) grant_one(*channel, index, given);
  settle_grants(grant.channel, *channel, ahead);
  return true;
}

// The peer withdraws a receive, or answers that a message was withdrawn in time: its receive may
// not be posted then.
bool Outgoing::on_cancel_receive(const CancelFrame& cancel) {
  Channel* channel = channel_for(cancel.channel);
  if (channel == nullptr) return false;
  const std::optional<int32_t> steps = channel->head.steps_to(cancel.sequence);
  if (!steps) return false;
  if (*steps < 0) return true;
  const auto index = static_cast<uint32_t>(*steps);
  if (!make_known(*channel, index)) return false;
  const uint32_t ahead = ahead_;
  channel->grants[index].state = Grant::State::kCancelled;
  if (index < channel->messages.size()) {
    OutMessage& message = pool_[channel->messages[index]];
    if (message.failed || message.acked.covered() == tracked(message)) return true;
    give_up(message, ErrorCode::kCancelled);
    // The peer counts a withdrawn receive until it is notified of the end of its message.
    if (!message.withdrawing) truncated_.push_back(cancel_of(cancel.channel, cancel.sequence));
  }
  settle_grants(cancel.channel, *channel, ahead);
  return true;
}

void Outgoing::on_acked(const DataRecord& record, uint32_t start, uint32_t end) {
  OutMessage* message = find(record.channel, record.sequence, record.message);
  if (message == nullptr) return;
  if (message->length() == 0) {
    message->acked.add(0, 1);
  } else {
    acked_bytes_ += message->acked.add(start, end);
  }
  if (message->acked.covered() == tracked(*message)) complete_front(channels_[record.channel]);
}

// An eager message may be lost because the peer has no buffer for it. It is retransmitted after
// its grant only: before, it would be refused again, and granted messages would wait behind it.
void Outgoing::on_lost(const DataRecord& record, uint32_t start, uint32_t end, uint64_t sent_as) {
  OutMessage* message = find(record.channel, record.sequence, record.message);
  if (message == nullptr || message->failed || message->withdrawing) return;
  message->lost_ahead |= !message->granted;
  if (!message->granted) return;
  retransmissions_.push_back({record.message, record.sequence, start, std::max(end, start + 1),
                              pack(record.original), sent_as, record.channel});
}

uint32_t Outgoing::retransmitted(const DataRecord& record, uint32_t start, uint32_t end,
                                 uint64_t sent_as) {
  const OutMessage* message = find(record.channel, record.sequence, record.message);
  if (message != nullptr && message->lost_ahead && !message->granted) return 0;
  end = std::max(end, start + 1);
  uint32_t again = end - start;
  retransmissions_.for_each([&](const Retransmission& waiting) {
    const bool of_it = waiting.sent_as == sent_as || waiting.sent_as == Retransmission::kSentAhead;
    if (!of_it || waiting.message != record.message || waiting.sequence != record.sequence ||
        waiting.channel != record.channel) {
      return;
    }
    const uint32_t from = std::max(start, waiting.start);
    const uint32_t to = std::min(end, waiting.end);
    again -= to > from ? to - from : 0;
  });
  return again;
}

void Outgoing::complete_front(Channel& channel) {
  while (!channel.messages.empty()) {
    const uint32_t slot = channel.messages.front();
    OutMessage& message = pool_[slot];
    const bool delivered = message.granted && message.acked.covered() == tracked(message);
    if (!delivered && !message.failed) return;
    // A message that was sent whole before its failure was known still failed for the application.
    completions_.push_back({message.operation, connection_, message.channel, Direction::kSend,
                            !message.failed, message.error, message.payload.length,
                            message.sequence.value(), message.posted_at});
    if (message.sent_ahead && !message.granted) end_credit(channel, message);
    message.acked.clear();
    IntervalSet memory = std::move(message.acked);
    message = OutMessage{};
    message.acked = std::move(memory);
    pool_.give_back(slot);
    channel.messages.pop_front();
    if (!channel.grants.empty()) channel.grants.pop_front();
    if (channel.next > 0) --channel.next;
    --channel.known_to;
    ++channel.head;
    --posted_;
    ++completed_;
  }
}

// A message that was sent ahead is over before its grant came.
void Outgoing::end_credit(Channel& channel, const OutMessage& message) {
  if (channel.index_of(message.sequence) < channel.known_to) {
    --ahead_;
  } else {
    keep_over_early(channel, {message.sequence, true});
  }
}

void Outgoing::fail_all(ErrorCode error) {
  for (Channel& channel : channels_) {
    for (size_t i = 0; i < channel.messages.size(); ++i) give_up(pool_[channel.messages[i]], error);
    complete_front(channel);
    channel.grants.clear();
    channel.over_early.clear();
  }
  retransmissions_.clear();
  truncated_.clear();
}

}  // namespace heddle::transport
