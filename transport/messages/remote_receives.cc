// Slots, and the writes that a message waits for.
#include "transport/messages/remote_receives.h"

#include <algorithm>
#include <utility>

namespace heddle::transport {

void RemoteReceives::open(const TokenTable& tokens, Fences& fences) {
  tokens_ = &tokens;
  fences_ = &fences;
  slots_.resize(kNoSlot);
}

void RemoteReceives::take_slot(ChannelId channel, Sequence sequence, InMessage& message) {
  if (tokens_ == nullptr) return;
  const auto token = tokens_->find(message.buffer.region);
  if (token == tokens_->end() || token->second.length == 0) return;
  const auto free =
      std::find_if(slots_.begin(), slots_.end(), [](const Receive& slot) { return !slot.used; });
  if (free == slots_.end() || message.buffer.length == 0) return;
  *free = {channel, sequence, true};
  message.slot = static_cast<uint8_t>(free - slots_.begin());
  ++used_;
}

void RemoteReceives::release_slot(InMessage& message) {
  if (message.slot == kNoSlot) return;
  slots_[message.slot].used = false;
  message.slot = kNoSlot;
  --used_;
}

PlacedGrantFrame RemoteReceives::describe(ChannelId channel, Sequence sequence,
                                          const InMessage& message) const {
  return {channel,
          sequence,
          static_cast<uint32_t>(message.buffer.length),
          message.slot,
          message.buffer.offset,
          tokens_->at(message.buffer.region)};
}

// Of each path the write is kept that is fenced last.
bool RemoteReceives::await_write(InMessage& message, const OriginalWrite& write) {
  if (fences_ == nullptr || fences_->fenced(write)) return false;
  for (OriginalWrite& known : message.writes) {
    if (known.path != write.path) continue;
    const bool later = known.epoch == write.epoch
                           ? write.number > known.number
                           : known.epoch.steps_to(write.epoch).value_or(0) > 0;
    if (later) known = write;
    return true;
  }
  if (message.writes.size() == kMostWrites) {
    std::erase_if(message.writes,
                  [this](const OriginalWrite& known) { return fences_->fenced(known); });
  }
  if (message.writes.size() < kMostWrites) {
    message.writes.push_back(write);
  } else {
    message.every_write = true;
  }
  return true;
}

void RemoteReceives::request_fences(InMessage& message) {
  if (std::exchange(message.every_write, false)) message.fence_round = fences_->request_every();
  for (const OriginalWrite& write : message.writes) {
    if (!fences_->fenced(write)) fences_->request(write.path);
  }
}

bool RemoteReceives::await_every_write(InMessage& message) {
  if (message.slot == kNoSlot) return false;
  message.fence_round = fences_->request_every();
  return !fences_->fenced_since(message.fence_round);
}

bool RemoteReceives::fenced(const InMessage& message) const {
  if (message.every_write) return false;
  if (message.fence_round != 0 && !fences_->fenced_since(message.fence_round)) return false;
  return std::all_of(message.writes.begin(), message.writes.end(),
                     [this](const OriginalWrite& write) { return fences_->fenced(write); });
}

}  // namespace heddle::transport
