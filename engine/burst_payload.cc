// See burst_payload.h.
#include "engine/burst_payload.h"

#include <algorithm>

#include "datapath/datapath.h"
#include "transport/packet_key.h"
#include "transport/tx_batch.h"

namespace heddle::engine {

uint32_t burst_payload_bytes(const datapath::Capabilities& network, Bytes longest, bool encrypted) {
  if (network.chunk_paths > 0) return 0;
  const uint64_t most = longest.count > 0
                            ? std::min<uint64_t>(longest.count, transport::kMaxBurstBytes)
                            : transport::kMaxBurstBytes;
  const uint64_t segments =
      std::min<uint64_t>(network.max_burst_segments, most / network.max_datagram_bytes);
  if (segments <= 1) return 0;
  const uint32_t overhead = transport::kDataHeaderBytes + (encrypted ? transport::kTagBytes : 0);
  return static_cast<uint32_t>(segments) * (network.max_datagram_bytes - overhead);
}

}  // namespace heddle::engine
