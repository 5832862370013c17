// RememberedPackets: copies of the latest numbered datagrams, of all peers together, in a ring of
// bytes, so that short ones leave space for more of them. All its memory is there from the start.
// Driven by Rebuilder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ring.h"
#include "datapath/fec.h"
#include "datapath/fec/parity_packet.h"
#include "transport/packet_identity.h"

namespace heddle::datapath {

class RememberedPackets {
 public:
  // The datagrams of a group's members; empty: not here.
  using Found = std::array<std::span<const std::byte>, kMostFecData>;

  // At most `most` datagrams of at most `bytes` together.
  RememberedPackets(size_t bytes, size_t most);

  // Overwrites the oldest ones. CHECKs that all the memory is no shorter.
  void keep(const transport::PacketIdentity& packet, std::span<const std::byte> datagram);
  // Finds the members, valid until keep(); returns those that are not here, as bits. Its time is
  // that of a look at all packets, if one is not here.
  uint32_t find(const MemberList& list, Found& found) const;
  size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    transport::PacketIdentity packet;
    size_t at = 0;  // in bytes_
    size_t bytes = 0;
  };

  const size_t capacity_;
  const size_t most_;
  const std::unique_ptr<std::byte[]> bytes_;
  size_t end_ = 0;   // of the latest in bytes_
  Ring<Kept> kept_;  // the oldest first
};

}  // namespace heddle::datapath
