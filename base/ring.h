// Ring: a FIFO queue that grows by doubling and never shrinks, so that the steady state allocates
// nothing. Elements are indexed from the front.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"

namespace heddle {

template <typename T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t capacity() const { return slots_.size(); }

  T& operator[](size_t i) { return slots_[wrap(i)]; }
  const T& operator[](size_t i) const { return slots_[wrap(i)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }

  void reserve(size_t count) {
    while (slots_.size() < count) grow();
  }

  T& push_back(T value) {
    if (size_ == slots_.size()) grow();
    T& slot = slots_[wrap(size_++)];
    slot = std::move(value);
    return slot;
  }

  void push_front(T value) {
    if (size_ == slots_.size()) grow();
    head_ = (head_ + slots_.size() - 1) & (slots_.size() - 1);
    ++size_;
    slots_[head_] = std::move(value);
  }

  T pop_front() {
    CHECK(size_ > 0);
    T value = std::move(slots_[head_]);
    slots_[head_] = T();
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
    return value;
  }

  void clear() {
    while (!empty()) pop_front();
  }

 private:
  size_t wrap(size_t i) const { return (head_ + i) & (slots_.size() - 1); }

  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : slots_.size() * 2);
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> slots_;
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace heddle
