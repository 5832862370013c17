// See encrypted_burst.h.
#include "datapath/fec/encrypted_burst.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "transport/packet_identity.h"
#include "transport/packet_key.h"

namespace heddle::datapath {

using transport::kTagBytes;
using transport::TxBurst;

namespace {

constexpr size_t kMostBytes =
    size_t{transport::kMaxBurstBytes} + transport::TxBatch::kLargestPacket;
constexpr size_t kMostHeaders = size_t{64} * 1024 + transport::kMaxBurstSegments * kTagBytes;

}  // namespace

EncryptedBurst::EncryptedBurst()
    : headers_(std::make_unique_for_overwrite<std::byte[]>(kMostHeaders)),
      payload_(std::make_unique_for_overwrite<std::byte[]>(kMostBytes)),
      packet_(std::make_unique_for_overwrite<std::byte[]>(kMostBytes)) {}

Result<std::unique_ptr<EncryptedBurst>> EncryptedBurst::make(Datapath& datapath) {
  std::unique_ptr<EncryptedBurst> made(new EncryptedBurst());
  Result<transport::RegionId> region = datapath.register_memory(made->payload_.get(), kMostBytes);
  if (!region) return fail(region.error());
  made->region_ = *region;
  return made;
}

// The tag goes to the end of each datagram: of the header where there is no payload.
const TxBurst& EncryptedBurst::encrypt(const TxBurst& burst, const std::byte* payload) {
  if (is_waiting(burst)) return burst_;
  waits_ = true;
  burst_ = burst;
  burst_.key = nullptr;
  burst_.headers = headers_.get();
  const bool bare = burst.total_payload() == 0;
  if (bare) {
    burst_.header_bytes = static_cast<uint16_t>(burst.header_bytes + kTagBytes);
  } else {
    burst_.payload_bytes += kTagBytes;
    burst_.last_payload_bytes += kTagBytes;
    burst_.region = region_;
    burst_.offset = 0;
  }
  CHECK(size_t{burst_.segments} * burst_.header_bytes <= kMostHeaders);
  CHECK(burst_.total_payload() <= kMostBytes && burst_.datagram_bytes() <= kMostBytes);
  for (uint32_t i = 0; i < burst.segments; ++i) {
    const uint32_t bytes =
        i + 1u == burst.segments ? burst.last_payload_bytes : burst.payload_bytes;
    const std::byte* from = bytes > 0 ? payload + size_t{i} * burst.payload_bytes : nullptr;
    transport::encrypt_segment(*burst.key,
                               {burst.headers + size_t{i} * burst.header_bytes, burst.header_bytes},
                               {from, bytes}, packet_.get());
    std::memcpy(headers_.get() + size_t{i} * burst_.header_bytes, packet_.get(),
                burst_.header_bytes);
    if (bare) continue;
    std::memcpy(payload_.get() + size_t{i} * burst_.payload_bytes,
                packet_.get() + burst_.header_bytes, bytes + kTagBytes);
  }
  return burst_;
}

// Whether it is the burst that waits: its packets have the same names, which no other has.
bool EncryptedBurst::is_waiting(const TxBurst& burst) const {
  if (!waits_ || burst.segments != burst_.segments) return false;
  return transport::identify_packet({burst.headers, burst.header_bytes}) ==
         transport::identify_packet({burst_.headers, burst_.header_bytes});
}

std::span<const std::byte> EncryptedBurst::first(uint32_t segment) const {
  return {headers_.get() + size_t{segment} * burst_.header_bytes, burst_.header_bytes};
}

std::span<const std::byte> EncryptedBurst::second(uint32_t segment) const {
  const bool last = segment + 1 == burst_.segments;
  return {payload_.get() + size_t{segment} * burst_.payload_bytes,
          last ? burst_.last_payload_bytes : burst_.payload_bytes};
}

}  // namespace heddle::datapath
