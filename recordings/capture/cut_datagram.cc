// See cut_datagram.h.
#include "recordings/capture/cut_datagram.h"

#include <algorithm>

#include "transport/packet_view.h"

namespace heddle::recordings {
namespace {

// Packets that GSO and GRO merge, at most: UDP_MAX_SEGMENTS of Linux.
constexpr uint64_t kMostMerged = 128;
// The header of the smallest packet, of control.
constexpr uint64_t kLeastPacket = 30;

// The length of the first packet, at least: the header of a second one would have been seen.
uint64_t least_stride(uint64_t captured) {
  constexpr uint64_t kHeader = transport::kViewedDataHeaderBytes;
  return captured < 2 * kHeader ? kHeader : captured - kHeader + 1;
}

}  // namespace

uint64_t most_packets(uint64_t bytes, uint64_t captured) {
  if (captured >= bytes || bytes <= kLeastPacket) return 1;
  return std::min(kMostMerged, (bytes - kLeastPacket) / least_stride(captured) + 1);
}

uint64_t least_carried(uint64_t captured) {
  return least_stride(captured) - transport::kViewedDataHeaderBytes;
}

}  // namespace heddle::recordings
