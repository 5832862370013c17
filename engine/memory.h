// Memory: a handle to registered user memory, which the datapath reads and writes without a copy.
// The destructor unregisters it; no operation on it may be in flight then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "transport/payload.h"

namespace heddle::engine {

// Unregisters regions for Memory handles. It may outlive its endpoint while handles exist.
class Registrar {
 public:
  virtual ~Registrar() = default;
  virtual void unregister(transport::RegionId region) = 0;
};

class Memory {
 public:
  Memory() = default;
  Memory(std::weak_ptr<Registrar> registrar, transport::RegionId region, std::byte* start,
         uint64_t bytes)
      : registrar_(std::move(registrar)), region_(region), start_(start), bytes_(bytes) {}
  ~Memory() { reset(); }

  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory taken(std::move(other));
    swap(taken);
    return *this;
  }

  void reset() {
    if (region_ == transport::kNoRegion) return;
    if (const auto registrar = registrar_.lock()) registrar->unregister(region_);
    region_ = transport::kNoRegion;
  }

  explicit operator bool() const { return region_ != transport::kNoRegion; }
  transport::RegionId region() const { return region_; }
  std::byte* start() const { return start_; }
  uint64_t bytes() const { return bytes_; }

  // A range of this memory, for sends and receives.
  transport::Payload slice(uint64_t offset, uint64_t length) const {
    return {.region = region_, .offset = offset, .length = length};
  }
  transport::Payload whole() const { return slice(0, bytes_); }

 private:
  void swap(Memory& other) noexcept {
    std::swap(registrar_, other.registrar_);
    std::swap(region_, other.region_);
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
  }

  std::weak_ptr<Registrar> registrar_;
  transport::RegionId region_ = transport::kNoRegion;
  std::byte* start_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace heddle::engine
