// PacketPieces and PiecePlacer: datagrams that lie in several frames (multi-buffer, MTU above a
// frame). Their payload is copied once: straight to a predicted place, or together in memory of the
// placer. XdpReceiver drives it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

// The parts of a datagram in order, without the headers of the network.
struct PacketPieces {
  // 65,535 bytes in frames of 3,840.
  static constexpr size_t kMost = 18;
  std::array<std::span<const std::byte>, kMost> pieces;
  size_t count = 0;
  uint32_t bytes = 0;

  void add(std::span<const std::byte> piece) {
    pieces[count++] = piece;
    bytes += static_cast<uint32_t>(piece.size());
  }
  // Copies `length` bytes from `from` on.
  void copy(uint32_t from, uint32_t length, std::byte* to) const;
};

class PiecePlacer {
 public:
  explicit PiecePlacer(const RegionTable& regions) : regions_(regions) {}

  // Starts a batch; `prediction` may be null.
  void start(const transport::Prediction* prediction);
  // Room for a datagram of `bytes`?
  bool has_room(uint32_t bytes) const { return used_ + bytes <= arena_.size(); }
  // Makes the datagram contiguous: its first byte, valid until the next start().
  const std::byte* gather(const PacketPieces& datagram);
  // If the datagram is the predicted one: puts its payload in place, describes it (`place`), and
  // returns its header, contiguous with that of the datagram before if that was placed too. Null:
  // not predicted.
  const std::byte* put(const PacketPieces& datagram, transport::Payload& place);
  uint32_t header_bytes() const { return prediction_.header_bytes; }

 private:
  bool fits(const PacketPieces& datagram) const;

  const RegionTable& regions_;
  transport::Prediction prediction_;
  bool predicting_ = false;
  std::vector<std::byte> arena_;
  size_t used_ = 0;
};

}  // namespace heddle::datapath
