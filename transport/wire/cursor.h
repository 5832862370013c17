// Writer and Reader: bounded little-endian cursors over bytes from and for the wire.
// A Reader that runs past its end yields zeros and remembers it: parsers read first and ask ok()
// once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"

namespace heddle::transport {

static_assert(std::endian::native == std::endian::little, "fields are copied as they stand");

class Writer {
 public:
  explicit Writer(std::span<std::byte> space)
      : at_(space.data()), end_(space.data() + space.size()) {}

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  std::byte* position() const { return at_; }

  template <typename Integer>
  Writer& put(Integer value) {
    CHECK(left() >= sizeof(value));
    std::memcpy(at_, &value, sizeof(value));
    at_ += sizeof(value);
    return *this;
  }

  Writer& put_bytes(std::span<const std::byte> bytes) {
    CHECK(left() >= bytes.size());
    if (!bytes.empty()) std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
    return *this;
  }

  // Steps over bytes that were written by other means.
  Writer& skip(size_t count) {
    CHECK(left() >= count);
    at_ += count;
    return *this;
  }

  Writer& put_zeros(size_t count) {
    CHECK(left() >= count);
    std::memset(at_, 0, count);
    at_ += count;
    return *this;
  }

 private:
  std::byte* at_;
  std::byte* end_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  template <typename Integer>
  Integer get() {
    Integer value{};
    if (left() < sizeof(value)) {
      ok_ = false;
      at_ = end_;
      return value;
    }
    std::memcpy(&value, at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }

  // The next `count` bytes; empty (and not ok) when there are fewer.
  std::span<const std::byte> take(size_t count) {
    if (left() < count) {
      ok_ = false;
      at_ = end_;
      return {};
    }
    const std::byte* start = at_;
    at_ += count;
    return {start, count};
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool ok_ = true;
};

}  // namespace heddle::transport
