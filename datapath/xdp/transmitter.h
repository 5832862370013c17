// XdpTransmitter: writes bursts as frames into the umem and hands them to the XDP sockets of one
// NIC; the path chooses the queue, so a path keeps its order. XdpNic drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/xdp/frame.h"
#include "datapath/xdp/socket.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

struct XdpTransmitterOptions {
  std::vector<uint16_t> source_ports;  // by path
  uint8_t traffic_class = 0;
};

class XdpTransmitter {
 public:
  // All must outlive it. `sockets`: those whose queue can send.
  XdpTransmitter(std::span<const std::unique_ptr<XdpSocket>> sockets, XdpTransmitterOptions options,
                 const RegionTable& regions, DatapathStatistics& statistics);

  // Writes all frames of the burst; they leave with flush(). False: no room for them now.
  bool write(const transport::TxBurst& burst, const FrameTemplate& frame);
  // Hands written frames to the kernel. Returns errno of a socket that cannot send (its interface
  // is down or gone), else 0.
  int flush();
  // In copy mode: sends what the kernel left in the rings. As flush().
  int push();
  bool unfinished() const;

 private:
  // One datagram: header, payload, and the key that encrypts it.
  struct Segment {
    std::span<const std::byte> header;
    std::span<const std::byte> payload;
    transport::PacketKey* key = nullptr;
  };

  void write_segment(XdpSocket& socket, const Segment& segment, const FrameTemplate& frame,
                     DatagramFields fields);
  void write_long(XdpSocket& socket, const Segment& segment, const FrameTemplate& frame,
                  const DatagramFields& fields);
  static bool worth_reporting(int error);

  std::span<const std::unique_ptr<XdpSocket>> sockets_;
  XdpTransmitterOptions options_;
  const RegionTable& regions_;
  DatapathStatistics& statistics_;
  std::vector<bool> written_;         // by socket: frames wait for flush()
  std::vector<std::byte> encrypted_;  // a datagram that takes several frames
  uint16_t id_ = 0;                   // of IPv4
};

}  // namespace heddle::datapath
