// The part of Incoming that concerns remote writes: slots that name receives to the peer's NIC,
// chunks that landed, and the fences without which a message is not over.
#include <algorithm>

#include "transport/messages/incoming.h"

namespace heddle::transport {

using events::DropReason;

void Incoming::open_placed(const TokenTable& tokens, Fences& fences) {
  tokens_ = &tokens;
  fences_ = &fences;
  slots_.resize(kNoSlot);
}

// Names the receive to the peer's NIC, if its memory can be written and a name is free.
void Incoming::take_slot(ChannelId id, Sequence sequence, InMessage& message) {
  if (tokens_ == nullptr) return;
  const auto token = tokens_->find(message.buffer.region);
  if (token == tokens_->end() || token->second.length == 0) return;
  const auto free =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& s) { return !s.used; });
  if (free == slots_.end() || message.buffer.length == 0) return;
  *free = {id, sequence, true};
  message.slot = static_cast<uint8_t>(free - slots_.begin());
  ++slots_used_;
}

void Incoming::release_slot(InMessage& message) {
  if (message.slot == kNoSlot) return;
  slots_[message.slot].used = false;
  message.slot = kNoSlot;
  --slots_used_;
}

bool Incoming::describe(ChannelId id, Sequence sequence, PlacedGrantFrame& grant) const {
  if (id >= channels_.size() || tokens_ == nullptr) return false;
  const Channel& channel = channels_[id];
  // A grant that the peer never acknowledges is told again, however far the channel has come.
  const int64_t index = channel.head.steps_to(sequence).value_or(-1);
  if (index < 0 || index >= channel.posted_to()) return false;
  const InMessage& message = pool_[channel.messages[static_cast<size_t>(index)]];
  if (message.slot == kNoSlot) return false;
  grant = {id,
           sequence,
           static_cast<uint32_t>(message.buffer.length),
           message.slot,
           message.buffer.offset,
           tokens_->at(message.buffer.region)};
  return true;
}

std::optional<DropReason> Incoming::accept_chunk(const ArrivedChunk& chunk) {
  if (chunk.slot >= slots_.size() || !slots_[chunk.slot].used) return DropReason::kNoReceive;
  Channel& channel = channels_[slots_[chunk.slot].channel];
  const int64_t index = channel.head.known_steps_to(slots_[chunk.slot].sequence);
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

// Keeps of each path the write that is fenced last.
void Incoming::await_write(InMessage& message, const OriginalWrite& write) {
  if (fences_ == nullptr || fences_->fenced(write)) return;
  for (OriginalWrite& known : message.writes) {
    if (known.path != write.path) continue;
    const bool later = known.epoch == write.epoch
                           ? write.number > known.number
                           : known.epoch.steps_to(write.epoch).value_or(0) > 0;
    if (later) known = write;
    return;
  }
  message.writes.push_back(write);
  awaits_fences_ = true;
}

// The peer may have written to it on any path, and nobody can say which writes are under way.
void Incoming::await_every_write(InMessage& message) {
  if (message.slot == kNoSlot) return;
  for (uint16_t path = 0; path < fences_->paths(); ++path) {
    await_write(message, {path, fences_->epoch(path), Fences::kEveryNumber});
    fences_->request(path);
  }
}

bool Incoming::fenced(const InMessage& message) const {
  return std::all_of(message.writes.begin(), message.writes.end(),
                     [this](const OriginalWrite& write) { return fences_->fenced(write); });
}

void Incoming::resume() {
  for (Channel& channel : channels_) complete_front(channel);
}

bool Incoming::request_fences(bool only_look) {
  bool waits = false;
  bool any = false;
  for (const Channel& channel : channels_) {
    for (size_t i = 0; i < channel.messages.size(); ++i) {
      const InMessage& message = pool_[channel.messages[i]];
      for (const OriginalWrite& write : message.writes) {
        if (fences_->fenced(write)) continue;
        any = true;
        if (!over(message)) continue;
        waits = true;
        if (!only_look) fences_->request(write.path);
      }
    }
  }
  awaits_fences_ = any;
  return waits;
}

}  // namespace heddle::transport
