// The rings that an XDP socket shares with the kernel: one side writes entries and advances its
// index, the other reads them (Documentation/networking/af_xdp.rst of the kernel). XdpSocket maps
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace heddle::datapath {

// struct xdp_desc of the kernel.
struct XdpDescriptor {
  uint64_t address = 0;  // of the frame's first byte, in the umem
  uint32_t bytes = 0;
  uint32_t options = 0;

  static constexpr uint32_t kContinued = 1;  // the packet goes on in the next descriptor
};

// Where a mapped ring has its parts.
struct RingPlace {
  uint32_t* producer = nullptr;
  uint32_t* consumer = nullptr;
  uint32_t* flags = nullptr;
  void* entries = nullptr;
  uint32_t size = 0;  // a power of two
};

// A ring that user space writes: fill and transmit.
template <typename Entry>
class WriteRing {
 public:
  WriteRing() = default;
  explicit WriteRing(const RingPlace& place)
      : place_(place), next_(*place.producer), consumed_(*place.consumer) {}

  uint32_t room() {
    if (next_ - consumed_ == place_.size) consumed_ = read_consumer();
    return place_.size - (next_ - consumed_);
  }
  // As room(), but asks the kernel's index.
  uint32_t fresh_room() {
    consumed_ = read_consumer();
    return place_.size - (next_ - consumed_);
  }
  // Needs room; the kernel sees it after submit().
  void write(const Entry& entry) {
    static_cast<Entry*>(place_.entries)[next_++ & (place_.size - 1)] = entry;
  }
  void submit() {
    std::atomic_ref<uint32_t>(*place_.producer).store(next_, std::memory_order_release);
  }
  // Number of entries that the kernel has not taken yet.
  uint32_t pending() const { return next_ - read_consumer(); }
  bool needs_wakeup() const {
    return (std::atomic_ref<uint32_t>(*place_.flags).load(std::memory_order_relaxed) & 1) != 0;
  }

 private:
  uint32_t read_consumer() const {
    return std::atomic_ref<uint32_t>(*place_.consumer).load(std::memory_order_acquire);
  }

  RingPlace place_;
  uint32_t next_ = 0;
  uint32_t consumed_ = 0;  // as last read
};

// A ring that the kernel writes: receive and completion.
template <typename Entry>
class ReadRing {
 public:
  ReadRing() = default;
  explicit ReadRing(const RingPlace& place)
      : place_(place), next_(*place.consumer), produced_(*place.producer) {}

  uint32_t available() {
    if (produced_ == next_) {
      produced_ = std::atomic_ref<uint32_t>(*place_.producer).load(std::memory_order_acquire);
    }
    return produced_ - next_;
  }
  // The entry `ahead` of the next one; below available().
  const Entry& at(uint32_t ahead) const {
    return static_cast<const Entry*>(place_.entries)[(next_ + ahead) & (place_.size - 1)];
  }
  // Returns `count` entries to the kernel.
  void release(uint32_t count) {
    next_ += count;
    std::atomic_ref<uint32_t>(*place_.consumer).store(next_, std::memory_order_release);
  }

 private:
  RingPlace place_;
  uint32_t next_ = 0;
  uint32_t produced_ = 0;  // as last read
};

}  // namespace heddle::datapath
