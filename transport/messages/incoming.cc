// Arrival, step by step: is the burst allowed (check), has its message a place (start), which of
// its bytes are new (accept), is the oldest receive over (complete_front). A sequence number
// becomes an index where it enters (index_of).
#include "transport/messages/incoming.h"

#include <algorithm>

namespace heddle::transport {

using events::DropReason;

Incoming::~Incoming() {
  for (Channel& channel : channels_) {
    while (!channel.messages.empty()) release(channel.messages.pop_front());
  }
  for (uint32_t slot = early_.take_any(); slot != kNoIndex; slot = early_.take_any()) release(slot);
}

Incoming::Channel* Incoming::channel_for(ChannelId channel) {
  if (channel >= limits_.max_channels) return nullptr;
  if (channel >= channels_.size()) channels_.resize(channel + 1u);
  return &channels_[channel];
}

void Incoming::note_heard(Channel& channel, int64_t index) {
  if (index < channel.heard_to) return;
  unheard_ -= static_cast<uint32_t>(channel.unheard());
  channel.heard_to = static_cast<int32_t>(index + 1);
  unheard_ += static_cast<uint32_t>(channel.unheard());
}

// The pool slot of a message that is not over: of a posted receive, or early. kNoIndex: not known.
uint32_t Incoming::find(ChannelId id, const Channel& channel, int64_t index) const {
  if (index >= channel.posted_to()) return early_.find(id, channel.at(index));
  return channel.messages[static_cast<size_t>(index)];
}

// What a peer that keeps to the limits can have sent ahead always has room here: it counts each
// until it hears that the receive is posted, withdrawn messages too. kNoIndex: it did not keep to
// them.
uint32_t Incoming::add_early(ChannelId channel, Sequence sequence) {
  if (early_.full()) return kNoIndex;
  const uint32_t slot = pool_.lend();
  if (slot != kNoIndex) early_.add(channel, sequence, slot);
  return slot;
}

// Below zero: of a message that is over. Nothing: the number has no order to this side's, or is
// further beyond the posted receives than a peer that keeps to the limits comes.
std::optional<int64_t> Incoming::index_of(const Channel& channel, Sequence sequence) const {
  const std::optional<int64_t> index = channel.head.steps_to(sequence);
  if (!index || *index - channel.posted_to() >= int64_t{peer_posts_}) return std::nullopt;
  return index;
}

bool Incoming::heard_of_next(ChannelId id) const {
  return id < channels_.size() && channels_[id].heard_of_next();
}

Result<void> Incoming::post(ChannelId id, const PostedReceive& receive,
                            Ring<ControlRecord>& frames) {
  const Payload& buffer = receive.buffer;
  Channel* channel = channel_for(id);
  if (channel == nullptr) {
    return fail(ErrorCode::kInvalid, "cannot receive", "no such channel");
  }
  if (buffer.length > kMaxMessageBytes) {
    return fail(ErrorCode::kInvalid, "cannot receive", "a message has at most 1 GiB",
                "receive it in parts");
  }
  // Withdrawn receives use up messages too, and the peer remembers a bounded number of receives.
  const bool heard = channel->heard_of_next();
  const Sequence sequence = channel->next_post();
  const bool room = posted_ < limits_.max_posted && (heard || unheard_ < limits_.max_posted);
  uint32_t slot = room ? early_.take(id, sequence) : kNoIndex;
  if (room && slot == kNoIndex) slot = pool_.lend();
  if (slot == kNoIndex) {
    return fail(ErrorCode::kExhausted, "cannot receive", "too many operations are posted",
                "wait for completions");
  }
  InMessage& message = pool_[slot];
  message.buffer = buffer;
  message.operation = receive.operation;
  message.posted_at = receive.at;
  message.fill = receive.fill;
  message.posted = true;
  remote_.take_slot(id, sequence, message);
  const ControlRecord grant{message.slot == kNoSlot ? FrameType::kGrant : FrameType::kPlacedGrant,
                            0,
                            id,
                            1,
                            sequence,
                            static_cast<uint32_t>(buffer.length)};
  channel->messages.push_back(slot);
  unheard_ += heard ? 0 : 1;
  ++posted_;
  const bool joins = !frames.empty() && message.slot == kNoSlot &&
                     frames.back().type == FrameType::kGrant && frames.back().channel == id &&
                     frames.back().capacity == grant.capacity &&
                     frames.back().sequence + frames.back().count == grant.sequence &&
                     frames.back().count < UINT16_MAX;
  if (joins) {
    ++frames.back().count;
  } else {
    frames.push_back(grant);
  }
  if (message.started && message.message_bytes > buffer.length && !message.failed) {
    remote_.release_slot(message);  // nothing of it is written: it came ahead
    message.failed = true;
    message.error = ErrorCode::kTruncated;
  }
  placer_.move_from_eager(message);
  complete_front(*channel);
  return {};
}

bool Incoming::cancel(ChannelId id, OperationId operation, Ring<ControlRecord>& frames) {
  if (id >= channels_.size()) return false;
  Channel& channel = channels_[id];
  for (uint32_t i = 0; i < channel.messages.size(); ++i) {
    InMessage& message = pool_[channel.messages[i]];
    if (message.operation != operation || message.failed) continue;
    if (message.complete()) return true;  // too late: it will complete
    message.failed = true;
    message.error = ErrorCode::kCancelled;
    // A fence now would not stop writes that the peer begins behind it.
    message.unannounced = message.slot != kNoSlot;
    withdraw(id, channel.at(i), frames);
    complete_front(channel);
    return true;
  }
  return false;
}

void Incoming::fill_at_once(ChannelId id, OperationId operation) {
  if (id >= channels_.size()) return;
  const Channel& channel = channels_[id];
  for (uint32_t i = 0; i < channel.messages.size(); ++i) {
    InMessage& message = pool_[channel.messages[i]];
    if (message.operation == operation) message.fill = Fill::kAtOnce;
  }
}

// What can be said of a burst without looking at its message; finds the channel and the index.
BurstVerdict Incoming::check(const DataBurst& burst, Channel*& channel, int64_t& index) {
  const DataHeader& header = burst.header;
  const uint64_t bytes = burst.bytes();
  channel = channel_for(header.channel);
  if (channel == nullptr || header.message_bytes > kMaxMessageBytes ||
      header.offset + bytes > header.message_bytes || (bytes == 0 && header.message_bytes != 0) ||
      (burst.segments > 1 && burst.step == 0)) {
    return {false, DropReason::kBadField, 0};
  }
  const std::optional<int64_t> known = index_of(*channel, header.sequence);
  if (!known) return {false, DropReason::kOverWindow, 0};
  index = *known;
  // Over already: acknowledged, so that the peer stops sending it.
  if (index < 0) {
    note_heard(*channel, index);
    return {!was_withdrawn(header.channel, header.sequence), DropReason::kStaleMessage, 0};
  }
  return {true, std::nullopt, 0};
}

// Whether a message may wait here for its receive.
BurstVerdict Incoming::judge_eager(uint32_t bytes) const {
  if (bytes > placer_.eager().block_bytes()) return {false, DropReason::kNoReceive, 0};
  if (early_.full() || placer_.eager().left() == 0) return {false, DropReason::kOverEager, 0};
  return {true, std::nullopt, 0};
}

// Gives a new message its size and, where no receive is posted yet, an eager block.
void Incoming::start(InMessage& message, uint32_t bytes) {
  message.started = true;
  message.message_bytes = bytes;
  if (!message.posted) {
    placer_.lend_block(message);
  } else if (bytes > message.buffer.length) {
    message.failed = true;
    message.error = ErrorCode::kTruncated;
  }
}

BurstVerdict Incoming::accept(const DataBurst& burst) {
  Channel* channel = nullptr;
  int64_t index = 0;
  BurstVerdict verdict = check(burst, channel, index);
  if (verdict.drop || !verdict.acknowledge) return verdict;
  const Sequence sequence = burst.header.sequence;
  uint32_t slot = find(burst.header.channel, *channel, index);
  if (slot == kNoIndex) {
    verdict = judge_eager(burst.header.message_bytes);
    if (verdict.drop == DropReason::kNoReceive) return verdict;  // no peer sends that
    note_heard(*channel, index);
    if (verdict.drop) return verdict;
    slot = add_early(burst.header.channel, sequence);
  }
  note_heard(*channel, index);
  InMessage& message = pool_[slot];
  if (message.failed) {
    return {message.error != ErrorCode::kCancelled, DropReason::kStaleMessage, 0};
  }
  if (!message.started) {
    start(message, burst.header.message_bytes);
  } else if (message.message_bytes == kUnknownBytes &&
             burst.header.message_bytes <= message.buffer.length) {
    message.message_bytes = burst.header.message_bytes;
  } else if (message.message_bytes != burst.header.message_bytes) {
    return {false, DropReason::kBadField, 0};
  }
  const bool may_be_written = burst.original.number != 0 && message.slot != kNoSlot;
  if (may_be_written) awaits_fences_ |= remote_.await_write(message, burst.original);
  if (!message.failed) {
    const uint64_t from = burst.header.offset;
    const uint64_t to = from + burst.bytes();
    if (!message.has_room(from, to)) return {false, DropReason::kOverWindow, 0};
    const uint64_t known = message.received.covered_within(from, to);
    verdict.fresh_bytes = (to - from) - known;
    if (verdict.fresh_bytes > 0) {
      placer_.place(message, burst, verdict.fresh_bytes);
      message.received.add(from, to);
      received_bytes_ += verdict.fresh_bytes;
      verdict.completes = message.complete();
    } else if (to > from) {
      verdict.drop = DropReason::kDuplicate;  // other numbers, same bytes: a needless repeat
    }
    latest_channel_ = burst.header.channel;
    latest_sequence_ = sequence;
  }
  complete_front(*channel);
  return verdict;
}

// This receive is withdrawn: a frame announces that to the peer.
void Incoming::withdraw(ChannelId channel, Sequence sequence, Ring<ControlRecord>& frames) {
  unknown_withdrawals_.emplace_back(channel, sequence);
  frames.push_back({FrameType::kCancelReceive, static_cast<uint8_t>(CancelReason::kCancelled),
                    channel, 0, sequence, 0});
}

bool Incoming::was_withdrawn(ChannelId channel, Sequence sequence) const {
  return std::find(unknown_withdrawals_.begin(), unknown_withdrawals_.end(),
                   std::pair(channel, sequence)) != unknown_withdrawals_.end();
}

void Incoming::forget_withdrawn(ChannelId channel, Sequence sequence) {
  if (std::erase(unknown_withdrawals_, std::pair(channel, sequence)) == 0) return;
  Channel& at = channels_[channel];
  // The peer may have kept its acknowledgement back for any number of messages.
  const int64_t index = at.head.steps_to(sequence).value_or(-1);
  if (index < 0 || index >= at.posted_to()) return;
  InMessage& message = pool_[at.messages[static_cast<size_t>(index)]];
  if (!message.unannounced) return;
  message.unannounced = false;
  awaits_fences_ |= remote_.await_every_write(message);
  complete_front(at);
}

// The peer asks whether its message can still be withdrawn: not if all of it is here.
bool Incoming::on_cancel_send(const CancelFrame& cancel, Ring<ControlRecord>& frames) {
  Channel* channel = channel_for(cancel.channel);
  const std::optional<int64_t> index =
      channel == nullptr ? std::nullopt : index_of(*channel, cancel.sequence);
  if (!index) return false;
  note_heard(*channel, *index);
  const bool past = *index < 0;
  uint32_t slot = past ? kNoIndex : find(cancel.channel, *channel, *index);
  if (!past && slot == kNoIndex) {
    slot = add_early(cancel.channel, cancel.sequence);
    if (slot == kNoIndex) return false;
  }
  const bool whole =
      past ? !was_withdrawn(cancel.channel, cancel.sequence) : pool_[slot].complete();
  if (whole) {
    frames.push_back({FrameType::kDelivered, 0, cancel.channel, 0, cancel.sequence, 0});
    return true;
  }
  if (past || pool_[slot].failed) return true;  // the frame that says so is in flight
  InMessage& message = pool_[slot];
  message.failed = true;
  message.error = ErrorCode::kTruncated;
  if (cancel.reason == CancelReason::kCancelled) {
    message.error = ErrorCode::kCancelled;
    withdraw(cancel.channel, cancel.sequence, frames);
  }
  awaits_fences_ |= remote_.await_every_write(message);
  placer_.release_block(message);
  complete_front(*channel);
  return true;
}

// --- written remotely ---

bool Incoming::describe(ChannelId id, Sequence sequence, PlacedGrantFrame& grant) const {
  if (id >= channels_.size()) return false;
  const Channel& channel = channels_[id];
  // A grant that the peer never acknowledges is retransmitted, however far the channel has come.
  const int64_t index = channel.head.steps_to(sequence).value_or(-1);
  if (index < 0 || index >= channel.posted_to()) return false;
  const InMessage& message = pool_[channel.messages[static_cast<size_t>(index)]];
  if (message.slot == kNoSlot) return false;
  grant = remote_.describe(id, sequence, message);
  return true;
}

std::optional<DropReason> Incoming::accept_chunk(const ArrivedChunk& chunk) {
  const RemoteReceives::Receive* receive = remote_.find(chunk.slot);
  if (receive == nullptr) return DropReason::kNoReceive;
  Channel& channel = channels_[receive->channel];
  const int64_t index = channel.head.known_steps_to(receive->sequence);
  CHECK(index >= 0 && index < channel.posted_to());
  note_heard(channel, index);
  InMessage& message = pool_[channel.messages[static_cast<size_t>(index)]];
  if (message.failed) return DropReason::kStaleMessage;
  if (!message.started) message.message_bytes = kUnknownBytes;
  message.started = true;
  const uint64_t end = chunk.offset + chunk.bytes;
  const bool known = message.message_bytes != kUnknownBytes;
  if (chunk.bytes == 0 || end > (known ? message.message_bytes : message.buffer.length) ||
      (known && chunk.last && end != message.message_bytes)) {
    return DropReason::kBadField;
  }
  if (!message.has_room(chunk.offset, end)) return DropReason::kOverWindow;
  if (chunk.last) message.message_bytes = static_cast<uint32_t>(end);
  const uint64_t fresh = message.received.add(chunk.offset, chunk.offset + chunk.bytes);
  received_bytes_ += fresh;
  complete_front(channel);
  if (fresh == 0) return DropReason::kDuplicate;
  return std::nullopt;
}

void Incoming::resume() {
  for (Channel& channel : channels_) complete_front(channel);
}

bool Incoming::request_fences(bool only_look) {
  bool waits = false;
  bool any = false;
  for (const Channel& channel : channels_) {
    for (size_t i = 0; i < channel.messages.size(); ++i) {
      InMessage& message = pool_[channel.messages[i]];
      if (remote_.fenced(message)) continue;
      any = true;
      if (!over(message)) continue;
      waits = true;
      if (!only_look) remote_.request_fences(message);
    }
  }
  awaits_fences_ = any;
  return waits;
}

// --- the next arrival ---

bool Incoming::predict(ChannelId& channel, Sequence& sequence, uint32_t& offset,
                       Payload& place) const {
  if (latest_channel_ >= channels_.size()) return false;
  const Channel& c = channels_[latest_channel_];
  // The message that got payload last, or, where it is over, the oldest that is not.
  const int32_t steps = c.head.steps_to(latest_sequence_).value_or(0);
  const auto index = static_cast<uint32_t>(std::max(steps, 0));
  if (index >= c.messages.size()) return false;
  const InMessage& message = pool_[c.messages[index]];
  // Where the peer's NIC writes, a wrong prediction would spoil what has landed meanwhile.
  if (message.failed || message.slot != kNoSlot) return false;
  if (message.fill == Fill::kOnArrival && !message.started) return false;
  const bool sized = message.started && message.message_bytes != kUnknownBytes;
  const uint64_t bytes = sized ? message.message_bytes : message.buffer.length;
  const uint64_t gap = message.received.first_gap();
  const uint64_t end = message.received.first_covered(gap, bytes);
  if (gap >= end) return false;
  channel = latest_channel_;
  sequence = c.head + index;
  offset = static_cast<uint32_t>(gap);
  place = {message.buffer.region, message.buffer.offset + gap, end - gap};
  return true;
}

void Incoming::release(uint32_t slot) {
  InMessage& message = pool_[slot];
  placer_.release_block(message);
  remote_.release_slot(message);
  IntervalSet memory = std::move(message.received);
  std::vector<OriginalWrite> writes = std::move(message.writes);
  memory.clear();
  memory.trim(InMessage::kIntervalsKept);
  writes.clear();  // its room is bounded: RemoteReceives::kMostWrites
  message = InMessage{};
  message.received = std::move(memory);
  message.writes = std::move(writes);
  pool_.give_back(slot);
}

// Whether nothing more of the message matters, fences apart.
bool Incoming::over(const InMessage& message) {
  return message.complete() || (message.failed && !message.unannounced);
}

void Incoming::complete_front(Channel& channel) {
  while (!channel.messages.empty()) {
    const uint32_t slot = channel.messages.front();
    InMessage& message = pool_[slot];
    if (!over(message) || !remote_.fenced(message)) return;
    completions_.push_back(
        {message.operation, connection_, static_cast<ChannelId>(&channel - channels_.data()),
         Direction::kReceive, !message.failed, message.error,
         message.failed ? 0 : message.message_bytes, channel.head.value(), message.posted_at});
    release(slot);
    channel.messages.pop_front();
    --channel.heard_to;
    ++channel.head;
    --posted_;
    ++completed_;
  }
}

void Incoming::fail_all(ErrorCode error) {
  for (Channel& channel : channels_) {
    for (size_t i = 0; i < channel.messages.size(); ++i) {
      InMessage& message = pool_[channel.messages[i]];
      if (message.failed) continue;
      message.failed = !message.complete();
      message.error = error;
    }
    // The endpoint fences every path of a connection before it comes to this.
    for (size_t i = 0; i < channel.messages.size(); ++i) {
      pool_[channel.messages[i]].writes.clear();
      pool_[channel.messages[i]].fence_round = 0;
      pool_[channel.messages[i]].every_write = false;
      pool_[channel.messages[i]].unannounced = false;
    }
    complete_front(channel);
  }
}

size_t Incoming::bytes_held() const {
  size_t total = channels_.capacity() * sizeof(Channel) + early_.bytes_held();
  for (const Channel& channel : channels_) {
    total += channel.messages.capacity() * sizeof(uint32_t);
    for (uint32_t i = 0; i < channel.messages.size(); ++i) {
      const InMessage& message = pool_[channel.messages[i]];
      total += message.received.bytes_held() + message.writes.capacity() * sizeof(OriginalWrite);
    }
  }
  return total;
}

}  // namespace heddle::transport
