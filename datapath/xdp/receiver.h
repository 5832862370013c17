// XdpReceiver: takes frames from the XDP sockets of one NIC, checks them, and hands over runs:
// consecutive datagrams of one sender, lent where the kernel put them. XdpNic drives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/xdp/frame.h"
#include "datapath/xdp/placing.h"
#include "datapath/xdp/socket.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

struct XdpReceiverOptions {
  uint16_t port = 0;
  uint32_t scope = 0;   // of link-local senders: the interface's index
  uint8_t nic = 0;      // NIC number reported in runs
  bool places = false;  // datagrams may take several frames, so predictions save a copy
};

class XdpReceiver {
 public:
  // All must outlive it.
  XdpReceiver(std::span<const std::unique_ptr<XdpSocket>> sockets,
              const XdpReceiverOptions& options, const RegionTable& regions,
              DatapathStatistics& statistics);

  // See Datapath::receive. Without input it reads no clock, and makes no system call except one for
  // each socket that busy polls.
  size_t receive(RxBatch& batch, const transport::Prediction* prediction);
  void release(RxBatch& batch);

  // Frames that were dropped because of their content.
  uint64_t faulty() const { return faulty_; }

 private:
  size_t take(XdpSocket& socket, RxBatch& batch, const transport::Prediction* prediction);
  bool holds(const ParsedFrame& parsed, const PacketPieces& datagram) const;
  void add(RxBatch& batch, const ParsedFrame& parsed, const PacketPieces& datagram, Nanos now);
  void add_whole(RxBatch& batch, const ParsedFrame& parsed, const std::byte* at, Nanos now);
  void add_placed(RxBatch& batch, const ParsedFrame& parsed, const std::byte* header,
                  const transport::Payload& place, Nanos now);
  transport::RxRun& start_run(RxBatch& batch, const ParsedFrame& parsed, Nanos now);

  std::span<const std::unique_ptr<XdpSocket>> sockets_;
  XdpReceiverOptions options_;
  DatapathStatistics& statistics_;
  PiecePlacer placer_;
  size_t turn_ = 0;
  XdpSocket* lent_ = nullptr;
  uint32_t lent_entries_ = 0;
  size_t batch_bytes_ = 0;
  uint64_t faulty_ = 0;
};

}  // namespace heddle::datapath
