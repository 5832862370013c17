// Pool: objects of one type, lent by index from slabs that never move, up to a stated bound. lend()
// and give_back() allocate nothing once the pool has grown to its steady size. It grows by `kSlab`
// objects, a power of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/params.h"

namespace heddle {

// Index of a lent object; kNoIndex means none. Indices are reused after give_back().
inline constexpr uint32_t kNoIndex = UINT32_MAX;

template <typename T, uint32_t kSlab = 64>
class Pool {
  static_assert((kSlab & (kSlab - 1)) == 0);

 public:
  explicit Pool(uint32_t limit) : limit_(limit) {}

  // Lends a default-constructed object, or returns kNoIndex if `limit` objects are lent.
  uint32_t lend() {
    if (free_.empty() && !grow()) return kNoIndex;
    const uint32_t index = free_.back();
    free_.pop_back();
    ++lent_;
    return index;
  }

  // Returns an object. The caller has reset what the next borrower must not see.
  void give_back(uint32_t index) {
    CHECK(index < size_ && lent_ > 0);
    --lent_;
    free_.push_back(index);
  }

  T& operator[](uint32_t index) { return slabs_[index / kSlab][index % kSlab]; }
  const T& operator[](uint32_t index) const { return slabs_[index / kSlab][index % kSlab]; }

  uint32_t lent() const { return lent_; }
  uint32_t limit() const { return limit_; }
  size_t bytes_held() const {
    return size_t{size_} * sizeof(T) + free_.capacity() * sizeof(uint32_t);
  }

 private:
  bool grow() {
    if (size_ >= limit_) return false;
    slabs_.push_back(std::make_unique<T[]>(kSlab));
    const uint32_t first = size_;
    size_ += kSlab;
    free_.reserve(size_);
    for (uint32_t i = kSlab; i-- > 0;) free_.push_back(first + i);
    return true;
  }

  uint32_t limit_;
  uint32_t size_ = 0;
  uint32_t lent_ = 0;
  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<uint32_t> free_;
};

// PoolShare: one borrower's share of a pool. A borrower may hold at most kShare times as many
// objects as the pool has free, so that no number of greedy borrowers exhausts it: n of them leave
// 1 / (2n + 1) of the pool, and a borrower with few objects still gets the next one. This is the
// rule of shared switch buffers (Choudhury and Hahne, Dynamic Queue Length Thresholds, 1998).
template <typename T, uint32_t kSlab = 64>
class PoolShare {
 public:
  static constexpr uint64_t kShare = base_params::kPoolShare;

  // The pool must outlive it; every object must be returned before it is destroyed.
  explicit PoolShare(Pool<T, kSlab>& pool) : pool_(pool) {}
  ~PoolShare() { CHECK(lent_ == 0); }
  PoolShare(const PoolShare&) = delete;
  PoolShare& operator=(const PoolShare&) = delete;

  // As Pool::lend(); also returns kNoIndex if the share is used up.
  uint32_t lend() {
    if (lent_ >= kShare * (pool_.limit() - pool_.lent())) return kNoIndex;
    const uint32_t index = pool_.lend();
    if (index != kNoIndex) ++lent_;
    return index;
  }

  void give_back(uint32_t index) {
    CHECK(lent_ > 0);
    --lent_;
    pool_.give_back(index);
  }

  T& operator[](uint32_t index) { return pool_[index]; }
  const T& operator[](uint32_t index) const { return std::as_const(pool_)[index]; }
  uint32_t lent() const { return lent_; }

 private:
  Pool<T, kSlab>& pool_;
  uint32_t lent_ = 0;
};

}  // namespace heddle
