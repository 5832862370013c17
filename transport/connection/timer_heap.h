// TimerHeap: finds the connection with the earliest timeout. A binary heap with at most one entry
// per slot: changing a slot's time costs O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/nanos.h"

namespace heddle::transport {

class TimerHeap {
 public:
  // Sets the time of a slot; never() takes it out.
  void set(uint32_t slot, Nanos at) {
    if (slot >= place_.size()) place_.resize(slot + 1, kAbsent);
    const uint32_t place = place_[slot];
    if (place == kAbsent) {
      if (at == Nanos::never()) return;
      place_[slot] = static_cast<uint32_t>(heap_.size());
      heap_.push_back({at, slot});
      rise(place_[slot]);
      return;
    }
    if (heap_[place].at == at) return;
    if (at == Nanos::never()) {
      remove(place);
      return;
    }
    heap_[place].at = at;
    rise(place);
    sink(place_[slot]);
  }

  bool empty() const { return heap_.empty(); }
  Nanos next() const { return heap_.empty() ? Nanos::never() : heap_.front().at; }
  uint32_t next_slot() const {
    CHECK(!heap_.empty());
    return heap_.front().slot;
  }
  size_t bytes_held() const {
    return heap_.capacity() * sizeof(Entry) + place_.capacity() * sizeof(uint32_t);
  }

 private:
  struct Entry {
    Nanos at;
    uint32_t slot = 0;
  };
  static constexpr uint32_t kAbsent = UINT32_MAX;

  void put(uint32_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.slot] = place;
  }

  void rise(uint32_t place) {
    const Entry entry = heap_[place];
    while (place > 0 && entry.at < heap_[(place - 1) / 2].at) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    put(place, entry);
  }

  void sink(uint32_t place) {
    const Entry entry = heap_[place];
    const auto count = static_cast<uint32_t>(heap_.size());
    while (2 * place + 1 < count) {
      uint32_t child = 2 * place + 1;
      if (child + 1 < count && heap_[child + 1].at < heap_[child].at) ++child;
      if (entry.at <= heap_[child].at) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, entry);
  }

  void remove(uint32_t place) {
    place_[heap_[place].slot] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    rise(place);
    sink(place_[last.slot]);
  }

  std::vector<Entry> heap_;
  std::vector<uint32_t> place_;
};

}  // namespace heddle::transport
