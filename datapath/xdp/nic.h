// XdpNic: one NIC of an AF_XDP datapath: the sockets of its engine in the attachment to the
// interface, and what sends, receives and finds routes through them. XdpDatapath owns one per NIC.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/xdp.h"
#include "datapath/xdp/attachment.h"
#include "datapath/xdp/netlink.h"
#include "datapath/xdp/receiver.h"
#include "datapath/xdp/routes.h"
#include "datapath/xdp/transmitter.h"
#include "transport/tx_batch.h"

namespace heddle::datapath {

struct XdpNicOptions {
  transport::Address local;            // with the receive port; its host may be a wildcard
  uint8_t nic = 0;                     // its number
  uint8_t engine = 0;                  // of those that share the attachment
  std::vector<uint16_t> source_ports;  // by path
  // Of the datapath; must outlive the NIC.
  const RegionTable* regions = nullptr;
  DatapathStatistics* statistics = nullptr;
};

class XdpNic {
 public:
  // Errors: see open_xdp().
  static Result<std::unique_ptr<XdpNic>> open(const XdpOptions& options,
                                              std::shared_ptr<XdpAttachment> attachment,
                                              XdpNicOptions nic);

  // What became of a burst.
  enum class Sent : uint8_t {
    kWritten,  // leaves with the next flush()
    kFull,     // offer it again
    kNotHere,  // must leave through the kernel
  };
  Sent send(const transport::TxBurst& burst, Nanos now);
  void flush(Nanos now);
  // Sends what the kernel left over. True: some is still left.
  bool push();

  size_t receive(RxBatch& batch, const transport::Prediction* prediction) {
    return receiver_->receive(batch, prediction);
  }
  void release(RxBatch& batch) { receiver_->release(batch); }
  // Before a sleep: lets a driver that ran out of frames go on.
  void prepare_wait() const;

  // Readable after input.
  const std::vector<int>& descriptors() const { return descriptors_; }
  uint32_t max_datagram_bytes() const { return max_datagram_bytes_; }
  bool places() const { return attachment_->multi_buffer(); }
  // True if every socket of this engine does.
  bool busy_polls() const;
  uint64_t dropped() const;

 private:
  XdpNic() = default;

  std::span<const std::unique_ptr<XdpSocket>> sockets() const {
    return attachment_->sockets(engine_);
  }

  std::shared_ptr<XdpAttachment> attachment_;
  uint8_t engine_ = 0;
  std::unique_ptr<Netlink> netlink_;
  std::unique_ptr<RouteCache> routes_;
  std::unique_ptr<XdpReceiver> receiver_;
  std::unique_ptr<XdpTransmitter> transmitter_;
  std::vector<int> descriptors_;
  uint32_t max_datagram_bytes_ = 0;
  Nanos down_until_;  // the interface cannot send
};

}  // namespace heddle::datapath
