// Retransmissions: byte ranges of messages that were lost and wait, first in, first out, until
// BurstSender sends them again. Entries come from the endpoint's pool; without losses it is empty.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/pool.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

struct Retransmission {
  static constexpr uint64_t kSentAhead = 0;  // many transmissions, declared lost together

  uint32_t message = kNoIndex;  // in the pool of messages
  Sequence sequence;
  uint32_t start = 0;
  uint32_t end = 0;
  Nanos original;                 // pack() of an OriginalWrite
  uint64_t sent_as = kSentAhead;  // identifies the transmission that was declared lost
  uint16_t channel = 0;
  uint32_t next = kNoIndex;
};

// Bounded by what is in flight: at most 64 for each burst that is remembered.
using RetransmissionPool = Pool<Retransmission>;

class Retransmissions {
 public:
  explicit Retransmissions(RetransmissionPool& pool) : pool_(pool) {}
  ~Retransmissions() { clear(); }
  Retransmissions(const Retransmissions&) = delete;
  Retransmissions& operator=(const Retransmissions&) = delete;

  bool empty() const { return first_ == kNoIndex; }
  Retransmission& front() { return pool_[first_]; }

  void push_back(const Retransmission& retransmission) {
    const uint32_t index = pool_.lend();
    CHECK(index != kNoIndex);
    pool_[index] = retransmission;
    pool_[index].next = kNoIndex;
    (empty() ? first_ : pool_[last_].next) = index;
    last_ = index;
  }

  void pop_front() {
    const uint32_t index = first_;
    first_ = pool_[index].next;
    pool_.give_back(index);
  }

  void clear() {
    while (!empty()) pop_front();
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (uint32_t i = first_; i != kNoIndex; i = pool_[i].next) visit(pool_[i]);
  }

 private:
  RetransmissionPool& pool_;
  uint32_t first_ = kNoIndex;
  uint32_t last_ = kNoIndex;
};

}  // namespace heddle::transport
