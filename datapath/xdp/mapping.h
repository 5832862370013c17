// Mapping: the owner of mapped memory, for rings and frames of XDP sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "datapath/xdp/rings.h"

struct xdp_ring_offset;

namespace heddle::datapath {

class Mapping {
 public:
  Mapping() = default;
  // Maps `bytes` of a socket's ring at `offset`; empty on failure (errno).
  static Mapping ring(int socket, size_t bytes, uint64_t offset);
  // Anonymous memory, zero-filled, not inherited by child processes: the kernel writes to it.
  static Mapping memory(size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* start() const { return start_; }
  size_t bytes() const { return bytes_; }

 private:
  Mapping(void* start, size_t bytes);

  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
};

// A ring as the kernel lays it out.
struct RingShape {
  const xdp_ring_offset& parts;
  uint32_t size = 0;  // a power of two
  size_t entry_bytes = 0;
  uint64_t page = 0;  // XDP_PGOFF_RX_RING, …
};

// Maps a ring of a socket and finds its parts; empty on failure (errno).
Mapping map_ring(int socket, const RingShape& shape, RingPlace& place);

}  // namespace heddle::datapath
