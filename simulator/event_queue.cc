// The 4-ary heap behind EventQueue: half as deep as a binary one, and four children share a cache
// line or two.
#include "simulator/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace heddle::simulator {
namespace {

constexpr size_t kArity = 4;

bool before(const Event& a, const Event& b) {
  return a.at != b.at ? a.at < b.at : a.order < b.order;
}

}  // namespace

void EventQueue::push(Nanos at, EventKind kind, uint32_t subject) {
  const Event event{at, pushed_++, kind, subject};
  size_t hole = heap_.size();
  heap_.push_back(event);
  while (hole > 0) {
    const size_t parent = (hole - 1) / kArity;
    if (!before(event, heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = event;
}

Event EventQueue::pop() {
  CHECK(!heap_.empty());
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  const size_t size = heap_.size();
  if (size == 0) return first;
  size_t hole = 0;
  for (;;) {
    const size_t begin = hole * kArity + 1;
    if (begin >= size) break;
    const size_t end = std::min(begin + kArity, size);
    size_t least = begin;
    for (size_t child = begin + 1; child < end; ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    if (!before(heap_[least], last)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = last;
  return first;
}

}  // namespace heddle::simulator
