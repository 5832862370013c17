// EarlyMessages: messages that arrived, or were withdrawn, before their receives were posted. A
// sender may have at most `eager_blocks` of them, anywhere in its channels. They are stored apart
// from posted receives, so neither takes room from the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/pool.h"
#include "transport/endpoint.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

class EarlyMessages {
 public:
  explicit EarlyMessages(uint32_t most) : most_(most) {}

  bool full() const { return entries_.size() >= most_; }
  bool crowded() const { return entries_.size() > most_ / 2; }

  // The pool slot of this message; kNoIndex: not here.
  uint32_t find(ChannelId channel, Sequence sequence) const {
    const auto entry = at(channel, sequence);
    return entry == entries_.end() ? kNoIndex : entry->slot;
  }

  void add(ChannelId channel, Sequence sequence, uint32_t slot) {
    CHECK(!full());
    entries_.push_back({sequence, slot, channel});
  }

  // Its receive is posted: it is early no more. kNoIndex: it was not here.
  uint32_t take(ChannelId channel, Sequence sequence) {
    const auto entry = at(channel, sequence);
    if (entry == entries_.end()) return kNoIndex;
    const uint32_t slot = entry->slot;
    entries_.erase(entry);
    return slot;
  }

  // Any of them; kNoIndex: there is none.
  uint32_t take_any() {
    if (entries_.empty()) return kNoIndex;
    const uint32_t slot = entries_.back().slot;
    entries_.pop_back();
    return slot;
  }

  size_t bytes_held() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    Sequence sequence;
    uint32_t slot = kNoIndex;
    ChannelId channel = 0;
  };

  std::vector<Entry>::const_iterator at(ChannelId channel, Sequence sequence) const {
    return std::find_if(entries_.begin(), entries_.end(), [=](const Entry& entry) {
      return entry.channel == channel && entry.sequence == sequence;
    });
  }

  uint32_t most_;
  std::vector<Entry> entries_;
};

}  // namespace heddle::transport
