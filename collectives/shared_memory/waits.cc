// Waits: see waits.h. No wake-up is lost: the sender counts its event and then reads the receiver's
// `sleeping`; the receiver sets `sleeping` and then reads the count; each with a full fence between
// (Dekker's algorithm).
#include "collectives/shared_memory/waits.h"

#include <unistd.h>

#include <algorithm>

namespace heddle::collectives {

Waits::~Waits() {
  if (!watches_.empty()) endpoint_.set_poll_source(nullptr);
}

void Waits::add(Side& mine, const Side& theirs) {
  {
    const OwnMutex::Lock lock = mutex_.lock();
    watches_.push_back({&mine, &theirs, 0});
  }
  // Not the first time only: this calls a driver back that fell asleep without this link.
  endpoint_.set_poll_source(this);
}

void Waits::remove(const Side& mine) {
  bool last = false;
  {
    const OwnMutex::Lock lock = mutex_.lock();
    std::erase_if(watches_, [&mine](const Watch& watch) { return watch.mine == &mine; });
    last = watches_.empty();
  }
  if (last) endpoint_.set_poll_source(nullptr);
}

bool Waits::look() {
  bool something = false;
  for (Watch& watch : watches_) {
    const uint64_t events = watch.theirs->events.load(std::memory_order_acquire);
    something |= events != watch.seen;
    watch.seen = events;
  }
  return something;
}

bool Waits::arrived() {
  const OwnMutex::Lock lock = mutex_.lock();
  return look();
}

bool Waits::before_sleep() {
  const OwnMutex::Lock lock = mutex_.lock();
  for (const Watch& watch : watches_) watch.mine->sleeping.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return std::none_of(watches_.begin(), watches_.end(), [](const Watch& watch) {
    return watch.theirs->events.load(std::memory_order_relaxed) != watch.seen;
  });
}

void Waits::after_sleep() {
  const OwnMutex::Lock lock = mutex_.lock();
  for (const Watch& watch : watches_) watch.mine->sleeping.store(0, std::memory_order_relaxed);
}

void notify(Side& mine, Side& theirs, int wake_descriptor) {
  const uint64_t events = mine.events.load(std::memory_order_relaxed) + 1;
  mine.events.store(events, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (theirs.sleeping.load(std::memory_order_relaxed) == 0) return;
  if (theirs.sleeping.exchange(0, std::memory_order_relaxed) == 0) return;
  const uint64_t one = 1;
  const ssize_t written = write(wake_descriptor, &one, sizeof one);
  static_cast<void>(written);  // full: it will wake anyway
}

}  // namespace heddle::collectives
