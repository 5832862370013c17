// CallState: how far a call of NCCL is. NCCL ends a call's event when the call is enqueued; its
// kernels and proxy operations begin and end later, on other threads. The state says when the last
// of them has ended. One atomic word with the object's generation: no lock, and a use of an object
// that has another owner by now has no effect.
#pragma once

#include <atomic>
#include <cstdint>

namespace heddle::nccl {

class CallState {
 public:
  enum class Change : uint8_t { kStale, kDone, kEnds };

  // A call of a new generation, which is returned. `kernels`: ends of kernels to wait for; 0: not
  // known, the call ends with the last of its parts.
  uint32_t begin(uint32_t kernels, bool only_host) {
    const uint64_t old = word_.load(std::memory_order_relaxed);
    uint64_t generation = (old & kGeneration) + 1;
    if (generation > kGeneration) generation = 1;
    uint64_t word = generation | kBegun;
    if (kernels > 0) word |= kKnowsKernels | uint64_t{kernels} << kKernelShift;
    if (only_host) word |= kOnlyHost;
    word_.store(word, std::memory_order_release);
    return static_cast<uint32_t>(generation);
  }

  // Each returns kStale for another generation or a call that has ended, and kEnds to the one
  // caller that ends it: that caller alone owns the object then.
  Change stop_host(uint32_t generation) {
    return change(generation, [](uint64_t word) { return word | kHostStopped; });
  }
  Change begin_part(uint32_t generation) {
    return change(generation, [](uint64_t word) {
      return (word & kLive) == kLive ? word : (word | kHasParts) + kOneLive;
    });
  }
  Change end_part(uint32_t generation, bool kernel) {
    return change(generation, [kernel](uint64_t word) {
      if ((word & kLive) != 0) word -= kOneLive;
      if (kernel && (word & kKernels) != 0) word -= kOneKernel;
      return word;
    });
  }
  // Ends a call of any generation that is enqueued and has no live part: to reuse its object, or
  // since its communicator ends.
  bool retire() {
    uint64_t word = word_.load(std::memory_order_acquire);
    while ((word & (kBegun | kEnded | kHostStopped)) == (kBegun | kHostStopped) &&
           (word & kLive) == 0) {
      if (word_.compare_exchange_weak(word, word | kEnded, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  // Ends a call in whatever state. False: it had ended, or never begun.
  bool abandon() {
    const uint64_t word = word_.fetch_or(kEnded, std::memory_order_acq_rel);
    return (word & (kBegun | kEnded)) == kBegun;
  }

 private:
  static constexpr uint64_t kGeneration = 0xffffff;
  static constexpr uint64_t kOneLive = uint64_t{1} << 24;
  static constexpr uint64_t kLive = uint64_t{0x3fff} << 24;
  static constexpr uint32_t kKernelShift = 38;
  static constexpr uint64_t kOneKernel = uint64_t{1} << kKernelShift;
  static constexpr uint64_t kKernels = uint64_t{0x3ff} << kKernelShift;
  static constexpr uint64_t kBegun = uint64_t{1} << 48;
  static constexpr uint64_t kKnowsKernels = uint64_t{1} << 49;
  static constexpr uint64_t kOnlyHost = uint64_t{1} << 50;
  static constexpr uint64_t kHostStopped = uint64_t{1} << 51;
  static constexpr uint64_t kHasParts = uint64_t{1} << 52;
  static constexpr uint64_t kEnded = uint64_t{1} << 53;

  static bool is_complete(uint64_t word) {
    if ((word & kHostStopped) == 0 || (word & kLive) != 0) return false;
    if ((word & kOnlyHost) != 0) return true;
    if ((word & kKnowsKernels) != 0) return (word & kKernels) == 0;
    return (word & kHasParts) != 0;
  }

  template <typename Step>
  Change change(uint32_t generation, const Step& step) {
    uint64_t word = word_.load(std::memory_order_acquire);
    for (;;) {
      if ((word & kGeneration) != generation || (word & kBegun) == 0 || (word & kEnded) != 0) {
        return Change::kStale;
      }
      uint64_t next = step(word);
      const bool ends = is_complete(next);
      if (ends) next |= kEnded;
      if (word_.compare_exchange_weak(word, next, std::memory_order_acq_rel)) {
        return ends ? Change::kEnds : Change::kDone;
      }
    }
  }

  std::atomic<uint64_t> word_{0};
};

}  // namespace heddle::nccl
