// Counters of the transport: plain numbers, read between calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/protection.h"

namespace heddle::transport {

struct Statistics {
  uint64_t datagrams_received = 0;
  uint64_t datagrams_dropped = 0;
  std::array<uint64_t, 32> drops_by_reason{};   // indexed by events::DropReason
  std::array<uint64_t, 32> recovery_by_step{};  // indexed by events::RecoveryStep
  uint64_t connections_opened = 0;
  uint64_t connections_closed = 0;

  void add(const Statistics& other) {
    datagrams_received += other.datagrams_received;
    datagrams_dropped += other.datagrams_dropped;
    for (size_t i = 0; i < drops_by_reason.size(); ++i) {
      drops_by_reason[i] += other.drops_by_reason[i];
    }
    for (size_t i = 0; i < recovery_by_step.size(); ++i) {
      recovery_by_step[i] += other.recovery_by_step[i];
    }
    connections_opened += other.connections_opened;
    connections_closed += other.connections_closed;
  }
};

struct ConnectionStatistics {
  uint64_t payload_bytes_sent = 0;           // retransmissions included
  uint64_t payload_bytes_retransmitted = 0;  // of these, retransmitted
  uint64_t payload_bytes_acked = 0;          // unique
  uint64_t payload_bytes_received = 0;       // unique, placed
  uint64_t segments_sent = 0;
  uint64_t segments_retransmitted = 0;
  // Payload segments that were declared lost, retransmitted at least in part, and then acknowledged
  // in their original transmission. Segments acknowledged before their retransmission left do not
  // count, nor do control packets. Never more than segments_retransmitted, although a
  // retransmission may use larger segments than the original.
  uint64_t segments_retransmitted_spuriously = 0;
  uint64_t segments_received = 0;
  uint64_t segments_duplicate = 0;
  uint64_t segments_trimmed = 0;  // packets of which only the header came
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t acks_sent = 0;
  uint64_t acks_received = 0;
  uint64_t congestion_marks = 0;  // segments that the peer saw marked
  Nanos smoothed_rtt;
  Nanos min_rtt;
  uint64_t window_bytes = 0;
  BitsPerSec pacing_rate;
  uint32_t paths = 0;
  uint32_t segment_bytes = 0;  // payload of a full segment on the widest path
  // UDP payload: what both ends would take, and the smallest that some path did not pass (0: none).
  uint32_t offered_datagram_bytes = 0;
  uint32_t refused_datagram_bytes = 0;
  uint32_t routes = 0;  // to the peer, as last discovered; 0: not known
  // With cluster keys: each segment is kTagBytes longer.
  std::optional<Protection> protection;
  const char* congestion = "";
};

struct PathStatistics {
  uint16_t path = 0;
  bool active = false;
  uint64_t payload_bytes_sent = 0;
  uint32_t segment_bytes = 0;
  uint64_t segments_lost = 0;
  Nanos smoothed_rtt;
  uint8_t nic = 0;       // of this host, that it leaves from
  uint8_t peer_nic = 0;  // and that it goes to
};

}  // namespace heddle::transport
