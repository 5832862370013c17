// Raw AF_XDP: the limit of XDP sockets on this path, for the raw UDP program's two tests
// (raw_udp.h). The same frames as heddle's, checksums included, without heddle's datapath contract
// and protocol: datagrams are written to frames and payload is copied once from frames to its
// place. One queue; both ends spin.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "bench/p2p/raw_udp.h"
#include "bench/p2p/raw_udp_parts.h"
#include "datapath/xdp/attachment.h"
#include "datapath/xdp/frame.h"
#include "datapath/xdp/netlink.h"

namespace heddle::bench {

class RawXdp {
 public:
  // Attaches to the interface of the control connection, for datagrams to `port` (which `udp`
  // reserves). Errors: those of open_xdp().
  static Result<std::unique_ptr<RawXdp>> open(const RawSocket& control, uint16_t port,
                                              uint32_t mtu_bytes);
  // Finds the way to the peer of the control connection, whose port is `port`.
  Result<void> connect(const RawSocket& control, uint16_t port);

  RawSent send_bandwidth(const RawRequest& request);
  RawReceived receive_bandwidth(const RawRequest& request, const RawSocket& control);
  RawLatency ping(const RawRequest& request);
  void pong(const RawRequest& request, const RawSocket& control);

 private:
  RawXdp() = default;

  datapath::XdpSocket& socket() { return *attachment_->sockets(0).front(); }
  bool write(std::span<const std::byte> header, std::span<const std::byte> payload);
  // Calls take(datagram in pieces) for each received datagram; returns their number.
  template <typename Take>
  uint32_t receive(Take take);
  bool await_message();

  datapath::Netlink netlink_;
  std::shared_ptr<datapath::XdpAttachment> attachment_;
  transport::Address local_;
  datapath::FrameTemplate frame_;
  uint16_t peer_port_ = 0;
  uint64_t calls_ = 0;
};

}  // namespace heddle::bench
