// NetworkBytes: a bounded cursor over big-endian fields. One that runs past its end yields zeros
// and remembers it: readers read first and ask ok() once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::recordings {

class NetworkBytes {
 public:
  explicit NetworkBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::span<const std::byte> rest() const { return bytes_; }

  std::span<const std::byte> take(size_t count) {
    if (bytes_.size() < count) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u24() { return number(3); }
  uint32_t u32() { return number(4); }

 private:
  uint32_t number(size_t count) {
    uint32_t value = 0;
    for (const std::byte each : take(count)) value = value << 8 | static_cast<uint8_t>(each);
    return value;
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

}  // namespace heddle::recordings
