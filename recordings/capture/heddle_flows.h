// HeddleFlows: heddle's own packets in a capture, put together to messages. Without keys only
// headers and unprotected frames can be read, which have all that sizes need.
#pragma once

#include <map>
#include <set>

#include "recordings/capture.h"
#include "recordings/capture/datagram.h"
#include "recordings/capture/heddle_messages.h"
#include "recordings/capture/number_track.h"
#include "recordings/capture/traffic.h"
#include "transport/packet_view.h"

namespace heddle::recordings {

class HeddleFlows {
 public:
  static constexpr size_t kMostConnections = 16'384;
  static constexpr size_t kMostPaths = 65'536;

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
    bool in_handshake = false;
    bool sent_data = false;
    bool sent_control = false;
    bool sent_parity = false;
    View before;  // the newest data packet
  };
  using PathName = std::pair<uint64_t, uint16_t>;
  struct Path {
    NumberTrack numbers;
    uint64_t may_skip = 0;  // numbers of packets that an offload merged with the newest one
  };

  bool is_ours(const View& view, uint16_t port) const;
  bool add_parity(Nanos at, const UdpDatagram& datagram);
  void add_packet(Nanos at, const View& view, size_t packet_bytes);
  void add_data(Nanos at, const View& view, bool merged_and_cut);
  void add_control(Nanos at, const View& view, size_t packet_bytes);
  void add_small_message(const View& view);
  void add_handshake(const View& view);
  void learn_tag(Connection& connection, const View& view);
  Connection* connection_of(uint64_t wire_id);
  void track(const View& view, bool merged_and_cut, TrafficCounter& of);

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
