// HeddleFlows: heddle's own packets in a capture, put together to messages. Without keys only
// headers and unprotected frames can be read, which have all that sizes need. A datagram that the
// capture cut waits for the next number of its path: only that shows whether it was one packet.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "recordings/capture.h"
#include "recordings/capture/cut_datagram.h"
#include "recordings/capture/datagram.h"
#include "recordings/capture/heddle_messages.h"
#include "recordings/capture/number_track.h"
#include "recordings/capture/traffic.h"
#include "transport/packet_view.h"

namespace heddle::recordings {

class HeddleFlows {
 public:
  explicit HeddleFlows(std::set<uint16_t> ports) : ports_(std::move(ports)) {}

  // Whether the datagram is heddle's.
  bool add(Nanos at, const UdpDatagram& datagram);
  void finish(CaptureSizes& sizes);

 private:
  using View = transport::PacketView;
  // What is known of a direction of a connection, by the wire id of its packets.
  struct Connection {
    uint64_t tag_bytes = 0;  // behind or before the payload of data packets
    bool is_protected = false;
    bool in_handshake = false;  // so it is known whether it has keys
    bool sent_data = false;
    bool sent_control = false;
    bool sent_parity = false;
    View before;            // the newest data packet
    PacketLengths lengths;  // of its packets
  };
  // A packet or, where the capture cut it, what may be several.
  struct Packet {
    Nanos at;
    View view;
    size_t bytes = 0;
    Length length = Length::kProven;
    uint64_t most_packets = 1;
  };
  using PathName = std::pair<uint64_t, uint16_t>;
  struct Path {
    NumberTrack numbers;
    uint64_t may_skip = 0;      // numbers of packets that an offload merged with the newest one
    std::optional<Packet> cut;  // the newest one, not yet counted
  };

  bool is_ours(const View& view, uint16_t port, uint64_t carried_bytes) const;
  bool add_parity(Nanos at, const UdpDatagram& datagram);
  bool add_greeting(Nanos at, const UdpDatagram& datagram);
  void add_merged(Nanos at, const UdpDatagram& datagram, size_t stride);
  void add_unread(const Packet& last, size_t bytes);
  void add_packet(const Packet& packet);
  void settle(Path& path, uint64_t number);
  void count(const Packet& packet);
  void add_data(const Packet& packet);
  bool add_sized(const Packet& packet, Connection* connection, uint64_t bytes);
  void add_segment(const MessageName& name, const MessageSegment& segment, TrafficCounter& of);
  void add_control(const Packet& packet);
  void add_handshake(const View& view);
  void learn_keys(Connection& connection, const Packet& packet);
  Connection* connection_of(uint64_t wire_id);
  Path* path_of(const View& view);
  void track(Path& path, const View& view);
  TrafficCounter& class_of(const View& view) {
    return view.kind == transport::PacketKind::kData ? data_ : control_;
  }

  std::set<uint16_t> ports_;
  std::map<uint64_t, Connection> connections_;
  std::map<PathName, Path> paths_;
  HeddleMessages messages_;
  TrafficCounter data_{"heddle data", "direction of a connection"};
  TrafficCounter control_{"heddle control", "direction of a connection"};
  TrafficCounter handshake_{"heddle handshake", "direction of a connection"};
  TrafficCounter parity_{"heddle parity", "direction of a connection"};  // error correction
  HeddleCounts counts_;
};

}  // namespace heddle::recordings
