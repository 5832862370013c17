// EngineBudget: counts how much of an endpoint's limits its engines (engine_share.h) use together,
// so that each engine may use what the others leave. The transports of all engines count here, from
// any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace heddle::transport {

class EngineBudget {
 public:
  // False: there are `most` of all engines.
  bool add_connection(uint32_t most) {
    uint32_t now = connections_.load(std::memory_order_relaxed);
    while (now < most) {
      if (connections_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void remove_connection() { connections_.fetch_sub(1, std::memory_order_relaxed); }

  // Memory that peers without a proven key may make connections hold. Who checks it first and adds
  // then may exceed the limit by one connection an engine.
  uint64_t charged() const { return charged_.load(std::memory_order_relaxed); }
  void charge(uint64_t bytes) { charged_.fetch_add(bytes, std::memory_order_relaxed); }
  void discharge(uint64_t bytes) { charged_.fetch_sub(bytes, std::memory_order_relaxed); }

  // Senders that want credit.
  void add_sender() { senders_.fetch_add(1, std::memory_order_relaxed); }
  void remove_sender() { senders_.fetch_sub(1, std::memory_order_relaxed); }
  // The part of a rate for the `own` senders of an engine: all senders get the same. Without
  // senders: the part that the first one would get.
  BitsPerSec rate_of(BitsPerSec all, uint64_t own) const {
    const uint64_t mine = std::max<uint64_t>(own, 1);
    const uint64_t senders = senders_.load(std::memory_order_relaxed) + (mine - own);
    // Other engines' counts change meanwhile.
    if (senders <= mine) return all;
    return {static_cast<uint64_t>(static_cast<double>(all.count) * static_cast<double>(mine) /
                                  static_cast<double>(senders))};
  }

 private:
  std::atomic<uint32_t> connections_ = 0;
  std::atomic<uint64_t> charged_ = 0;
  std::atomic<uint64_t> senders_ = 0;
};

}  // namespace heddle::transport
