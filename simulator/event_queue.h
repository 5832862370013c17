// EventQueue: pending events, ordered by time and, at equal times, by insertion. Near events are in
// a timing wheel with one slot per nanosecond, each a list in insertion order, so no comparison is
// needed. Later events are in a 4-ary heap and move to the wheel when it reaches their time. It
// allocates only while it grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/pool.h"
#include "simulator/params.h"

namespace heddle::simulator {

enum class EventKind : uint32_t {
  kLink,    // the first packet on link `subject` reaches its end
  kPacket,  // packet `subject` reaches its node after it was held back
  kAgent,   // agent `subject` is due to run
  kRoom,    // NIC `subject` may have room for waiting senders
  kLeft,    // the packet that outlet `subject` sends has left (outlets.h)
  kChange,  // change `subject` of the topology's script takes effect
  kRoutes,  // all switches learn which links are down
};

struct Event {
  Nanos at;
  uint64_t order = 0;
  EventKind kind = EventKind::kAgent;
  uint32_t subject = 0;
};

class EventQueue {
 public:
  EventQueue();

  bool empty() const { return size() == 0; }
  size_t size() const { return later_.size() + soon_; }
  // The time of the next event; never() if the queue is empty.
  Nanos next_at() const {
    const Nanos later = later_.empty() ? Nanos::never() : later_.front().at;
    return later < soon_at_ ? later : soon_at_;
  }

  void push(Nanos at, EventKind kind, uint32_t subject);
  // The `order` of the result is undefined.
  Event pop();
  // The subject of the next (`place` 0) or second event (1) if it is a link event that can be found
  // without a search; otherwise kNoIndex. For prefetching.
  uint32_t link_ahead(uint32_t place) const {
    if (soon_ == 0) return kNoIndex;
    uint32_t index = slots_[slot_of(soon_at_)].first;
    if (place > 0) index = entries_[index].next;
    if (index == kNoIndex || entries_[index].kind != EventKind::kLink) return kNoIndex;
    return entries_[index].subject;
  }

 private:
  static constexpr size_t kSlots = params::kWheelSlots;
  static constexpr size_t kWords = kSlots / 64;
  static constexpr size_t kSummaries = kWords / 64;

  struct Entry {
    uint32_t next = kNoIndex;
    EventKind kind = EventKind::kAgent;
    uint32_t subject = 0;
  };
  struct Slot {
    uint32_t first = kNoIndex;
    uint32_t last = kNoIndex;
  };

  static size_t slot_of(Nanos at) { return static_cast<uint64_t>(at.count) % kSlots; }
  bool in_wheel(Nanos at) const { return at >= begin_ && at.count - begin_.count < kSpan; }
  void insert(Nanos at, EventKind kind, uint32_t subject);
  void push_later(const Event& event);
  Event pop_later();
  void turn_to(Nanos at);
  void find_soonest();
  size_t next_used(size_t from) const;

  static constexpr int64_t kSpan = kSlots;

  std::vector<Slot> slots_;
  std::array<uint64_t, kWords> used_{};         // one bit per slot
  std::array<uint64_t, kSummaries> summary_{};  // one bit per word of used_
  std::vector<Entry> entries_;
  uint32_t free_ = kNoIndex;
  size_t soon_ = 0;                 // number of events in the wheel
  Nanos begin_;                     // start of the wheel's span
  Nanos soon_at_ = Nanos::never();  // time of the wheel's first event
  std::vector<Event> later_;
  uint64_t pushed_ = 0;
};

}  // namespace heddle::simulator
