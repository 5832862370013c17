// TrafficCounter: fills one TrafficClass.
#pragma once

#include <string>

#include "recordings/capture.h"
#include "recordings/capture/number_track.h"

namespace heddle::recordings {

class TrafficCounter {
 public:
  TrafficCounter(std::string name, std::string flow) {
    counts_.name = std::move(name);
    counts_.flow = std::move(flow);
  }

  void add_packet(Nanos at, uint64_t payload_bytes) {
    add_uncounted(at, payload_bytes);
    counts_.packet_sizes.add(payload_bytes);
  }
  // A packet whose size is not that of packets on the wire.
  void add_uncounted(Nanos at, uint64_t payload_bytes) {
    if (counts_.packets++ == 0) counts_.first = counts_.last = at;
    if (at < counts_.first) counts_.first = at;
    if (counts_.last < at) counts_.last = at;
    counts_.payload_bytes += payload_bytes;
  }
  void add_message(uint64_t bytes, uint64_t packets) {
    ++counts_.messages;
    counts_.message_sizes.add(bytes);
    counts_.packets_of_message.add(packets);
  }
  // A message whose size is known from a header, but not its packets.
  void add_message_in_doubt(uint64_t bytes) {
    ++counts_.messages_not_known;
    counts_.message_sizes.add(bytes);
  }
  void add_gaps(const NumberTrack& track) {
    counts_.gaps += track.gaps();
    counts_.missing_packets += track.missing();
  }

  TrafficClass& counts() { return counts_; }
  const TrafficClass& counts() const { return counts_; }

 private:
  TrafficClass counts_;
};

}  // namespace heddle::recordings
