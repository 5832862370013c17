// What a capture of packets (pcap, pcapng) has of messages: sizes of packets and of messages, how
// many packets a message has, and what is missing, for RoCEv2 and for heddle's own protocol.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "recordings/size_counts.h"

namespace heddle::recordings {

struct CaptureOptions {
  uint16_t roce_port = 4791;
  // Where heddle's endpoints receive. Of other ports a packet is heddle's if all its fields are
  // plausible.
  std::set<uint16_t> heddle_ports;
  std::function<bool()> interrupted;  // whether to stop reading; may be empty
};

// Packets that do the same: "RoCE RC write", "heddle data".
struct TrafficClass {
  std::string name;
  std::string flow;  // what a flow of it is
  uint64_t flows = 0;
  uint64_t packets = 0;
  uint64_t payload_bytes = 0;
  Nanos first;
  Nanos last;
  SizeCounts packet_sizes;  // payload of each packet; of classes without messages the UDP payload
  SizeCounts message_sizes;
  SizeCounts packets_of_message;
  uint64_t messages = 0;
  uint64_t incomplete_messages =
      0;  // begun before the capture, cut by its end, or with missing packets
  uint64_t gaps = 0;
  uint64_t missing_packets = 0;   // numbers that were never captured
  uint64_t late_packets = 0;      // numbers that were captured after later ones
  uint64_t repeated_packets = 0;  // RoCE: numbers captured before; heddle: retransmissions
  uint64_t other_lengths = 0;     // messages whose packets have not the bytes of their DMA length
  // Datagrams that the capture cut before the headers of all packets that an offload may have
  // merged in them. Where there are any, `packets` is the least, and `payload_bytes` the most.
  uint64_t datagrams_not_known = 0;
  uint64_t packets_not_known = 0;   // numbers that such datagrams may have had, and none was read
  uint64_t messages_not_known = 0;  // whether all of their packets came, and how many

  bool has_messages() const {
    return messages > 0 || incomplete_messages > 0 || messages_not_known > 0;
  }
  bool is_known() const { return datagrams_not_known == 0 && packets_not_known == 0; }
  double seconds() const { return to_seconds(last - first); }
  // Nothing where a single time is known, and of packets and messages where not all are known.
  std::optional<double> payload_bits_per_s() const;
  std::optional<double> packets_per_s() const;
  std::optional<double> messages_per_s() const;
};

// Kinds of negative acknowledgements in an AETH.
inline constexpr size_t kNakKinds = 6;
inline constexpr std::array<const char*, kNakKinds> kNakNames{
    "psn_sequence_error",       "invalid_request",    "remote_access_error",
    "remote_operational_error", "invalid_rd_request", "reserved"};

struct RoceCounts {
  uint64_t packets = 0;
  uint64_t acks = 0;
  std::array<uint64_t, kNakKinds> naks{};
  uint64_t receiver_not_ready = 0;
  uint64_t congestion_notifications = 0;
  uint64_t atomics = 0;
  SizeCounts read_requests;  // by DMA length
  uint64_t marked = 0;       // ECN: congestion experienced
  uint64_t other_opcodes = 0;
  uint64_t cut = 0;
  uint64_t malformed = 0;
  uint64_t not_followed = 0;  // packets beyond the bound of flows
};

struct HeddleCounts {
  uint64_t packets = 0;
  uint64_t connections = 0;  // directions: each has a wire id of its own
  uint64_t protected_connections = 0;
  uint64_t opaque_control = 0;  // control packets whose frames are encrypted
  uint64_t cut = 0;             // control packets without all their bytes, so frames are unknown
  uint64_t merged = 0;          // datagrams that an offload has merged, and which were taken apart
  uint64_t merged_and_cut = 0;  // likewise, too short in the capture for that
  uint64_t not_known = 0;       // likewise, or a single packet: too short in the capture to know
  uint64_t unread = 0;          // packets whose header was cut off
  uint64_t marked = 0;
  uint64_t malformed = 0;  // to a port that was named as heddle's
  uint64_t not_followed = 0;
};

struct CaptureSizes {
  std::string link;
  uint32_t snapshot_bytes = 0;  // of a packet at most; 0: no limit is known
  uint64_t packets = 0;
  uint64_t wire_bytes = 0;
  uint64_t shortened = 0;      // packets that were not captured whole
  uint64_t cut_at_bytes = 0;   // what was captured of the longest of them
  std::optional<Nanos> first;  // since 1970
  Nanos last;
  std::optional<Error> ended_early;  // why the rest was not read

  uint64_t not_ip = 0;
  uint64_t not_udp = 0;
  uint64_t fragments = 0;
  uint64_t cut = 0;
  uint64_t malformed = 0;
  uint64_t other_udp = 0;

  std::vector<TrafficClass> classes;  // those that have packets
  RoceCounts roce;
  HeddleCounts heddle;
};

// Reads the file, or standard input where it is "-". Errors: kUnavailable (libpcap is not
// installed), kInvalid (no capture, or a link type that is not read), kSystem. What ends in the
// middle is ended_early.
Result<CaptureSizes> read_capture(const std::string& file, const CaptureOptions& options);

}  // namespace heddle::recordings
