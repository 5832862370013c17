// RoceFlows: packets of RoCEv2 put together to messages, a flow for each destination queue pair and
// for each of the two series of numbers that it receives: those of requests and those of responses.
#pragma once

#include <compare>
#include <map>
#include <vector>

#include "recordings/capture.h"
#include "recordings/capture/datagram.h"
#include "recordings/capture/message_pieces.h"
#include "recordings/capture/number_track.h"
#include "recordings/capture/roce_packet.h"
#include "recordings/capture/traffic.h"
#include "recordings/params.h"

namespace heddle::recordings {

class RoceFlows {
 public:
  static constexpr size_t kMostFlows = params::capture::kMostFlows;

  void add(Nanos at, const UdpDatagram& datagram);
  // Counts what is left, and appends the classes that have packets.
  void finish(CaptureSizes& sizes);

 private:
  struct Key {
    HostBytes from{};
    HostBytes to{};
    uint32_t queue_pair = 0;
    uint32_t source_queue_pair = 0;
    bool responses = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Flow {
    NumberTrack track;
    MessagePieces pieces;
    uint64_t may_skip = 0;  // numbers that the responses to a read request take
    uint64_t counted = 0;   // bits of the classes that count this flow
    size_t last_class = 0;
  };

  void add_message_packet(Nanos at, const UdpDatagram& datagram, const RocePacket& packet);
  void add_other(const RocePacket& packet, const UdpDatagram& datagram);
  void follow(Flow& flow, const RocePacket& packet, size_t of);
  Flow* flow_of(const RocePacket& packet, const UdpDatagram& datagram);

  std::map<Key, Flow> flows_;
  std::vector<TrafficCounter> classes_ = make_classes();
  static std::vector<TrafficCounter> make_classes();
  RoceCounts counts_;
};

}  // namespace heddle::recordings
