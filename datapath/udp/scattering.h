// Scattering: the memory of one predicted receive. Headers go to slots of their own, payload to the
// place where it is expected, and what is too much for the place into a spill. Afterwards it says
// whether the prediction was right, and puts everything in one row again if it was not.
// No I/O: Receiver hands the pieces to the kernel.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/rx_run.h"

namespace heddle::datapath {

class Scattering {
 public:
  static constexpr size_t kRowBytes = 65536;  // no datagram or row is larger
  static constexpr uint32_t kMaxPairs = 64;   // of a header and its payload
  static constexpr size_t kMaxPieces = 2 * kMaxPairs + 3;
  // Memory that a receive needs besides the place: the slots, room to put all in a row, the spill.
  static constexpr size_t kSlotsBytes = kMaxPairs * transport::kMostHeaderBytes;
  static constexpr size_t kReserve = kSlotsBytes + 2 * kRowBytes;

  // Lays the pieces of a receive out over `memory` (kReserve bytes) and `place` (the prediction's,
  // in memory), for rows if `rows`, else for one datagram. Returns how many of `pieces` are used;
  // they take at least kRowBytes.
  size_t lay_out(const transport::Prediction& prediction, std::byte* memory, std::byte* place,
                 bool rows, std::span<iovec, kMaxPieces> pieces);

  // Whether a receive of `bytes` in datagrams of `datagram_bytes` (the last may be smaller) is what
  // was predicted.
  bool fits(const transport::Prediction& prediction, uint32_t bytes, uint32_t datagram_bytes) const;
  // If it fits: how many of the bytes are in the slots and the place. The rest stands at rest().
  uint32_t in_place(uint32_t bytes) const;
  // The datagrams behind those in place, in a row. Copies at most one header and part of its
  // payload.
  std::byte* rest();
  // If it fits: how many datagrams in place, from the first on, are data segments as predicted. A
  // coalesced row may end with something else, which must not be looked for in the place.
  uint32_t alike(const transport::Prediction& prediction, uint32_t in_place_bytes) const;
  // Puts the datagrams from `first` on, of all `bytes`, in a row at line(first).
  void line_up(uint32_t bytes, uint32_t first = 0);
  std::byte* line(uint32_t first) const { return slots_ + size_t{first} * datagram(); }

  std::byte* slots() const { return slots_; }
  // Payload of a datagram that rest() copies.
  uint32_t partial() const { return partial_; }

  // Bytes of a full one.
  uint32_t datagram() const { return header_ + step_; }

 private:
  uint32_t partial_datagram() const { return partial_ > 0 ? header_ + partial_ : 0; }
  // What stands before the spill.
  uint32_t ahead() const { return pairs_ * datagram() + partial_datagram(); }

  std::byte* slots_ = nullptr;
  std::byte* place_ = nullptr;
  std::byte* spill_ = nullptr;
  uint32_t step_ = 0;
  uint32_t header_ = transport::kDataHeaderBytes;
  uint32_t pairs_ = 0;
  uint32_t partial_ = 0;  // what is left of the place behind the last whole step
};

// Moves the prediction behind `placed` bytes; false: that cannot be told, or no place is left.
bool move_on(transport::Prediction& prediction, uint64_t placed);

}  // namespace heddle::datapath
