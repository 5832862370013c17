// The wheel and the heap of EventQueue. The 4-ary heap is half as deep as a binary one, and four
// siblings share one or two cache lines.
#include "simulator/event_queue.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "simulator/params.h"

namespace heddle::simulator {
namespace {

bool before(const Event& a, const Event& b) {
  return a.at != b.at ? a.at < b.at : a.order < b.order;
}

// `word` with the bits below number `bit` cleared.
uint64_t from_bit(uint64_t word, size_t bit) { return word >> bit << bit; }

}  // namespace

EventQueue::EventQueue() : slots_(kSlots) {}

void EventQueue::push(Nanos at, EventKind kind, uint32_t subject) {
  if (in_wheel(at)) {
    insert(at, kind, subject);
  } else {
    push_later({at, pushed_++, kind, subject});
  }
}

Event EventQueue::pop() {
  CHECK(!empty());
  if (!later_.empty() && later_.front().at < soon_at_) {
    const Event event = pop_later();
    turn_to(event.at);
    return event;
  }
  const size_t number = slot_of(soon_at_);
  Slot& slot = slots_[number];
  const uint32_t index = slot.first;
  Entry& entry = entries_[index];
  const Event event{soon_at_, 0, entry.kind, entry.subject};
  slot.first = entry.next;
  entry.next = free_;
  free_ = index;
  --soon_;
  if (slot.first == kNoIndex) {
    uint64_t& word = used_[number / 64];
    word &= ~(uint64_t{1} << (number % 64));
    if (word == 0) summary_[number / 4096] &= ~(uint64_t{1} << (number / 64 % 64));
    find_soonest();
  }
  turn_to(event.at);
  return event;
}

// Advances the wheel's start to `at`. Heap events that come into its span move to it first, before
// any new event is inserted there, so that equal times keep their insertion order.
void EventQueue::turn_to(Nanos at) {
  if (at <= begin_) return;
  begin_ = at;
  while (!later_.empty() && in_wheel(later_.front().at)) {
    const Event event = pop_later();
    insert(event.at, event.kind, event.subject);
  }
}

void EventQueue::insert(Nanos at, EventKind kind, uint32_t subject) {
  if (free_ == kNoIndex) {
    free_ = static_cast<uint32_t>(entries_.size());
    entries_.emplace_back();
  }
  const uint32_t index = free_;
  free_ = entries_[index].next;
  entries_[index] = {kNoIndex, kind, subject};
  const size_t number = slot_of(at);
  Slot& slot = slots_[number];
  if (slot.first == kNoIndex) {
    slot.first = index;
    used_[number / 64] |= uint64_t{1} << (number % 64);
    summary_[number / 4096] |= uint64_t{1} << (number / 64 % 64);
    soon_at_ = std::min(soon_at_, at);
  } else {
    entries_[slot.last].next = index;
  }
  slot.last = index;
  ++soon_;
}

// No event is before the slot of soon_at_, which has become empty.
void EventQueue::find_soonest() {
  if (soon_ == 0) {
    soon_at_ = Nanos::never();
    return;
  }
  const size_t from = slot_of(soon_at_);
  const size_t found = next_used(from);
  soon_at_ += nanos(static_cast<int64_t>((found + kSlots - from) % kSlots));
}

// The first used slot from `from` on, with wrap-around; there must be one.
size_t EventQueue::next_used(size_t from) const {
  const uint64_t here = from_bit(used_[from / 64], from % 64);
  if (here != 0) return from / 64 * 64 + static_cast<size_t>(std::countr_zero(here));
  const size_t word = from / 64 + 1;
  for (size_t i = 0; i <= kSummaries; ++i) {
    const size_t at = (word / 64 + i) % kSummaries;
    const uint64_t words = i == 0 ? from_bit(summary_[at], word % 64) : summary_[at];
    if (words == 0) continue;
    const size_t found = at * 64 + static_cast<size_t>(std::countr_zero(words));
    return found * 64 + static_cast<size_t>(std::countr_zero(used_[found]));
  }
  CHECK(false);
}

void EventQueue::push_later(const Event& event) {
  size_t hole = later_.size();
  later_.push_back(event);
  while (hole > 0) {
    const size_t parent = (hole - 1) / params::kHeapArity;
    if (!before(event, later_[parent])) break;
    later_[hole] = later_[parent];
    hole = parent;
  }
  later_[hole] = event;
}

Event EventQueue::pop_later() {
  const Event first = later_.front();
  const Event last = later_.back();
  later_.pop_back();
  const size_t size = later_.size();
  if (size == 0) return first;
  size_t hole = 0;
  for (;;) {
    const size_t begin = hole * params::kHeapArity + 1;
    if (begin >= size) break;
    const size_t end = std::min(begin + params::kHeapArity, size);
    size_t least = begin;
    for (size_t child = begin + 1; child < end; ++child) {
      if (before(later_[child], later_[least])) least = child;
    }
    if (!before(later_[least], last)) break;
    later_[hole] = later_[least];
    hole = least;
  }
  later_[hole] = last;
  return first;
}

}  // namespace heddle::simulator
