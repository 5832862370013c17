// TestMemory: limits the memory that all clients of a server together use for their tests. A client
// gets its share before the allocation, or an error with the amount that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace heddle::measure {

class TestMemory {
 public:
  explicit TestMemory(uint64_t total) : total_(total) {}
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  // Given back when it goes; the memory must outlive it.
  class Share {
   public:
    Share() = default;
    ~Share() {
      if (of_ != nullptr) of_->taken_ -= bytes_;
    }
    Share(Share&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }

   private:
    friend class TestMemory;
    Share(TestMemory* of, uint64_t bytes) : of_(of), bytes_(bytes) { of_->taken_ += bytes; }
    TestMemory* of_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // Nothing: less than `bytes` is left.
  std::optional<Share> take(uint64_t bytes) {
    if (bytes > left()) return std::nullopt;
    return Share(this, bytes);
  }
  uint64_t total() const { return total_; }
  uint64_t left() const { return total_ - taken_; }

 private:
  const uint64_t total_;
  uint64_t taken_ = 0;
};

}  // namespace heddle::measure
