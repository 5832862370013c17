// Datagrams that the capture cut. GSO and GRO merge packets of one connection, so a cut datagram
// may be one packet or several: what its bytes and the packets around it prove, and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "recordings/params.h"

namespace heddle::recordings {

// What is known of a packet's length.
enum class Length : uint8_t {
  kProven,    // captured whole, or the next number of its path follows
  kNotKnown,  // the datagram may be several packets
};

// The packets that a datagram of `bytes` has at most, of which `captured` show one header.
uint64_t most_packets(uint64_t bytes, uint64_t captured);

// The bytes behind the header of a data packet that it has at least, where the datagram is cut.
uint64_t least_carried(uint64_t captured);

// Lengths that single packets of a connection were proven to have: a cut datagram of such a length
// is one packet, too. Their number has a bound.
class PacketLengths {
 public:
  void add(uint64_t bytes) {
    if (bytes > params::capture::kLargestPacket) return;
    if (lengths_.size() < params::capture::kMostLengths) lengths_.insert(bytes);
  }
  bool contains(uint64_t bytes) const { return lengths_.contains(bytes); }

 private:
  std::set<uint64_t> lengths_;
};

}  // namespace heddle::recordings
