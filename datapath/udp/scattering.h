// Scattering: the memory layout of one predicted receive. Headers go to slots, payload to the
// predicted place, and excess data to a spill area. Afterwards it checks the prediction and, if it
// was wrong, restores contiguous datagrams. No I/O: Receiver passes the pieces to the kernel.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/udp/params.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

class Scattering {
 public:
  static constexpr size_t kRowBytes = 65536;  // upper bound of a datagram or run
  static constexpr uint32_t kMaxPairs = udp_params::kMaxPairs;
  static constexpr size_t kMaxPieces = 2 * kMaxPairs + 3;
  // Memory that a receive needs in addition to the place: slots, room for contiguous datagrams,
  // spill.
  static constexpr size_t kSlotsBytes = kMaxPairs * transport::kMostHeaderBytes;
  static constexpr size_t kReserve = kSlotsBytes + 2 * kRowBytes;

  // Lays out a receive over `memory` (kReserve bytes) and `place` (the predicted place), for runs
  // if `rows`, else for one datagram. Returns the number of `pieces` used; together they take at
  // least kRowBytes.
  size_t lay_out(const transport::Prediction& prediction, std::byte* memory, std::byte* place,
                 bool rows, std::span<iovec, kMaxPieces> pieces);

  // True if a receive of `bytes` in datagrams of `datagram_bytes` (the last may be smaller) matches
  // the prediction.
  bool fits(const transport::Prediction& prediction, uint32_t bytes, uint32_t datagram_bytes) const;
  // If it fits: the bytes in the slots and the place. The others are at rest().
  uint32_t in_place(uint32_t bytes) const;
  // The datagrams behind those in place, contiguous. Copies at most one header and part of its
  // payload.
  std::byte* rest();
  // If it fits: the number of leading datagrams in place that are data segments as predicted. A
  // coalesced run may end with other datagrams, which must not be taken from the place.
  uint32_t alike(const transport::Prediction& prediction, uint32_t in_place_bytes) const;
  // Makes the datagrams from `first` on, out of `bytes` in all, contiguous at line(first).
  void line_up(uint32_t bytes, uint32_t first = 0);
  std::byte* line(uint32_t first) const { return slots_ + size_t{first} * datagram(); }

  std::byte* slots() const { return slots_; }
  // Payload bytes of the datagram that rest() copies.
  uint32_t partial() const { return partial_; }

  // Bytes of a full datagram.
  uint32_t datagram() const { return header_ + step_; }

 private:
  uint32_t partial_datagram() const { return partial_ > 0 ? header_ + partial_ : 0; }
  // Bytes in front of the spill.
  uint32_t ahead() const { return pairs_ * datagram() + partial_datagram(); }

  std::byte* slots_ = nullptr;
  std::byte* place_ = nullptr;
  std::byte* spill_ = nullptr;
  uint32_t step_ = 0;
  uint32_t header_ = transport::kDataHeaderBytes;
  uint32_t pairs_ = 0;
  uint32_t partial_ = 0;  // rest of the place behind the last whole step
};

// Advances the prediction by `placed` bytes; false: the place is full or the offset cannot be
// updated.
bool move_on(transport::Prediction& prediction, uint64_t placed);

}  // namespace heddle::datapath
