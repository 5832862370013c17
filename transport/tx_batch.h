// TxBatch: what poll_transmit gives to a datapath: bursts, each to leave on one path in one system
// call. A burst is a sequence of segments of one size (the last may be shorter). The headers of a
// burst stand one after another in the batch; its payload is one contiguous range of a region, cut
// in steps of payload_bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/address.h"
#include "transport/packet_key.h"
#include "transport/params.h"
#include "transport/payload.h"
#include "transport/placed.h"

namespace heddle::transport {

inline constexpr uint32_t kMaxBurstSegments = 64;
inline constexpr uint32_t kMaxBurstBytes = params::kMaxBurstBytes;  // with headers

struct TxBurst {
  Address to;
  uint16_t path = 0;                   // the entropy: a source port, a queue pair
  uint8_t nic = 0;                     // of this host, that it leaves from
  uint8_t peer_nic = 0;                // of the peer, that it goes to
  uint32_t connection = 0;             // whose it is, by its local id; 0: an answer to a stranger
  uint16_t segments = 0;               // 1 to kMaxBurstSegments
  uint16_t header_bytes = 0;           // of each segment
  bool may_fragment = false;           // false: the packet must not be fragmented (IP's DF)
  bool ecn_capable = false;            // mark ECT(0)
  bool tests_path = false;             // its arrival says something of the path: never rebuild it
  uint8_t hop_limit = 0;               // the hop where it ends; 0: far away
  const std::byte* headers = nullptr;  // segments x header_bytes, valid until the batch is cleared
  uint32_t payload_bytes = 0;          // of each segment but the last
  uint32_t last_payload_bytes = 0;  // of the last (equal to payload_bytes where there is one only)
  RegionId region = kNoRegion;      // where the payload is; kNoRegion when payload_bytes is 0
  uint64_t offset = 0;
  // Not null: it encrypts every segment, which grows by kTagBytes. Valid until the next call of
  // poll_transmit().
  PacketKey* key = nullptr;
  // Not null: a chunk to be written remotely. One segment, no headers; payload_bytes as
  // last_payload_bytes.
  const ChunkWrite* write = nullptr;

  uint32_t tag_bytes() const { return key != nullptr ? kTagBytes : 0; }
  // Of each datagram but the last.
  uint32_t datagram_bytes() const { return header_bytes + payload_bytes + tag_bytes(); }
  uint64_t total_payload() const {
    return uint64_t{segments - 1u} * payload_bytes + last_payload_bytes;
  }
};

class TxBatch {
 public:
  static constexpr size_t kMaxBursts = params::kMaxBursts;
  // A packet that is all header: a path's size is tried with one.
  static constexpr size_t kLargestPacket = params::kLargestPacket;

  std::span<const TxBurst> bursts() const { return {bursts_.data(), count_}; }
  bool empty() const { return count_ == 0; }

  // Room for one more burst of `header_bytes_total`?
  bool has_room(size_t header_bytes_total) const {
    return count_ < kMaxBursts && header_used_ + header_bytes_total <= headers_.size();
  }

  // The space for the headers of the next burst, to be followed by add() with headers pointing at
  // it.
  std::byte* header_space() { return headers_.data() + header_used_; }
  size_t header_space_bytes() const { return headers_.size() - header_used_; }

  // Takes the burst; its headers have been written at header_space().
  TxBurst& add(const TxBurst& burst) {
    header_used_ += size_t{burst.segments} * burst.header_bytes;
    return bursts_[count_++] = burst;
  }

  // As add(), for a write.
  TxBurst& add_write(const TxBurst& burst, const ChunkWrite& write) {
    writes_[count_] = write;
    TxBurst& added = bursts_[count_];
    added = burst;
    added.write = &writes_[count_++];
    return added;
  }

  void clear() { count_ = header_used_ = 0; }

 private:
  size_t count_ = 0;
  size_t header_used_ = 0;
  std::array<TxBurst, kMaxBursts> bursts_;
  std::array<ChunkWrite, kMaxBursts> writes_;
  std::array<std::byte, 64 * 1024> headers_;
};

}  // namespace heddle::transport
