// SlotPool: a fixed number of objects that threads take and return without a lock. Memory is
// reserved when the pool is made and touched when an object is first used.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/anonymous_memory.h"
#include "base/check.h"

namespace heddle::nccl {

template <typename T>
class SlotPool {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // At most 65,536 objects. Holds none if the system has no memory left.
  explicit SlotPool(uint32_t capacity) : memory_(Bytes{capacity * sizeof(Slot)}) {
    CHECK(capacity <= 65'536);
    static_assert(std::is_trivially_destructible_v<T>);
    slots_ = reinterpret_cast<Slot*>(memory_.start());
    capacity_ = slots_ == nullptr ? 0 : capacity;
  }

  // The place of an object that the caller owns until it is returned; kNone: all are taken. An
  // object keeps its state from its last use.
  uint32_t take() {
    uint64_t head = free_.load(std::memory_order_acquire);
    while (place_of(head) != kNone) {
      const uint32_t next = slots_[place_of(head)].next.load(std::memory_order_relaxed);
      if (free_.compare_exchange_weak(head, tagged(head, next), std::memory_order_acquire)) {
        return place_of(head);
      }
    }
    uint32_t fresh = fresh_.load(std::memory_order_relaxed);
    while (fresh < capacity_) {
      if (fresh_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) {
        new (&slots_[fresh]) Slot{};
        return fresh;
      }
    }
    return kNone;
  }

  void give_back(uint32_t place) {
    uint64_t head = free_.load(std::memory_order_relaxed);
    do {
      slots_[place].next.store(place_of(head), std::memory_order_relaxed);
    } while (!free_.compare_exchange_weak(head, tagged(head, place), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  // Of a place that was taken.
  T& operator[](uint32_t place) { return slots_[place].value; }
  // Null for a place that was never taken.
  T* at(uint32_t place) {
    return place < fresh_.load(std::memory_order_acquire) ? &slots_[place].value : nullptr;
  }
  // Places below were taken at least once.
  uint32_t used() const { return fresh_.load(std::memory_order_acquire); }
  uint32_t capacity() const { return capacity_; }

 private:
  struct Slot {
    T value{};
    std::atomic<uint32_t> next{kNone};
  };

  // The head of the free list: a place, and a count of its changes against ABA.
  static uint32_t place_of(uint64_t head) { return static_cast<uint32_t>(head); }
  static uint64_t tagged(uint64_t before, uint32_t place) {
    return ((before >> 32) + 1) << 32 | place;
  }

  AnonymousMemory memory_;
  Slot* slots_ = nullptr;
  uint32_t capacity_ = 0;
  std::atomic<uint32_t> fresh_{0};
  std::atomic<uint64_t> free_{kNone};
};

}  // namespace heddle::nccl
