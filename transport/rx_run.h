// RxRun: datagrams that a datapath hands over together: one sender, one arrival, one size (the last
// may be shorter). GRO hands over such runs; a datapath without it hands over runs of one.
// Prediction and Placement say where payload should land, so that a receive copies at most once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "transport/address.h"
#include "transport/payload.h"

namespace heddle::transport {

enum class Ecn : uint8_t { kNotCapable = 0, kEct1 = 1, kEct0 = 2, kCongestion = 3 };

// Every data segment begins with a header of this size; its payload follows.
inline constexpr uint32_t kDataHeaderBytes = 44;
// With its tag, where only headers are protected.
inline constexpr uint32_t kMostHeaderBytes = kDataHeaderBytes + 16;

// Where the payload of a run is.
enum class PayloadAt : uint8_t {
  kFrame,    // behind each header, in the frame
  kPlaced,   // already in (place.region, place.offset + i x payload step), where a Prediction asked
             // for it
  kVirtual,  // nowhere: the simulator carries a name, `place`, of the sender's (virtual) bytes
             // instead
};

struct RxRun {
  Address from;
  Nanos received_at;  // the datapath's timestamp, or the loop's now
  Ecn ecn = Ecn::kNotCapable;
  PayloadAt payload_at = PayloadAt::kFrame;
  uint8_t nic = 0;  // of this host, that it was sent to
  uint32_t segments = 0;
  uint32_t segment_bytes = 0;  // header and payload of each segment but the last
  uint32_t last_segment_bytes = 0;
  // kFrame: segment i is `segment_bytes` x i into `frame`, whole. Otherwise `frame` holds only the
  // first header_bytes of each segment (or all of it where it is shorter), header_bytes apart.
  const std::byte* frame = nullptr;
  uint32_t frame_step = 0;  // kFrame: how far segments stand apart; 0: segment_bytes
  bool trimmed = false;     // one segment, of which a switch that had no room left only the start
  bool opened = false;      // its segments were decrypted and authenticated
  // kPlaced: the prediction's; kVirtual: others than a data segment's in runs of one only
  uint32_t header_bytes = kDataHeaderBytes;
  Payload place;  // see PayloadAt

  uint32_t step() const { return frame_step != 0 ? frame_step : segment_bytes; }
};

// Where the next run's payload probably belongs. A datapath may scatter a receive accordingly, and
// must compare the first header under `mask` before it says kPlaced; otherwise it hands over whole
// frames. A header's first byte is its kind: a placed run ends before a segment of another kind,
// which has a body to be parsed.
struct Prediction {
  std::array<std::byte, kDataHeaderBytes> header{};
  std::array<std::byte, kDataHeaderBytes> mask{};
  Payload place;  // free to be written up to its length, until the next call of the transport
  uint32_t payload_bytes = 0;  // the step of a segment
  // Before each segment's payload: at most kMostHeaderBytes, the first of which are compared.
  uint32_t header_bytes = kDataHeaderBytes;
  // Where the header has a little-endian 32-bit number that rises with the payload before it, so
  // that a datapath can predict the run behind a run; kNoOffset: there is none.
  static constexpr uint16_t kNoOffset = UINT16_MAX;
  uint16_t offset_at = kNoOffset;
};

// A copy that the datapath makes before any completion is looked at: `segments` pieces of `bytes`
// each (the last of `last_bytes`), from `source_step` apart to one contiguous stretch of `to`.
struct Placement {
  PayloadAt payload_at = PayloadAt::kFrame;
  const std::byte* source = nullptr;  // kFrame: the first piece; unused otherwise
  Payload from;                       // kPlaced and kVirtual: where the pieces stand, contiguously
  uint32_t source_step = 0;           // kFrame
  uint32_t segments = 0;
  uint32_t bytes = 0;
  uint32_t last_bytes = 0;
  RegionId to_region = kNoRegion;
  uint64_t to_offset = 0;
};

enum class NetworkErrorKind : uint8_t {
  kRefused,       // ICMP port unreachable
  kUnreachable,   // no route to it
  kTooLarge,      // larger than `limit_bytes` does not pass this path
  kTimeExceeded,  // its hop limit ended at the router `router`
};

// An error that the network reported for packets sent earlier. ICMP is not authenticated: errors
// that are not local are accepted only if they quote secret bits of the packet.
struct NetworkError {
  NetworkErrorKind kind = NetworkErrorKind::kRefused;
  Address to;
  uint16_t path = 0;
  uint32_t limit_bytes = 0;          // kTooLarge: the largest datagram, headers of heddle included
  bool local = false;                // this host says so, of a packet that did not leave it
  std::array<uint8_t, 16> router{};  // kTimeExceeded: who says so
  // The beginning of the packet as quoted by ICMP, at most up to the end of its send time.
  static constexpr size_t kMostQuoted = 28;
  std::array<std::byte, kMostQuoted> quoted{};
  uint8_t quoted_bytes = 0;
};

}  // namespace heddle::transport
