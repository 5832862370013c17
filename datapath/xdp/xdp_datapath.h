// XdpDatapath: the datapath contract over XDP sockets, with a UDP datapath on the same port behind
// it. The UDP datapath owns the regions, the source ports and the waiter; it sends and receives
// what XdpNic does not take. Those of several engines share the attachments to their NICs.
// open_xdp() creates it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "datapath/forwarding.h"
#include "datapath/udp/udp_datapath.h"
#include "datapath/xdp.h"
#include "datapath/xdp/attachment.h"
#include "datapath/xdp/nic.h"

namespace heddle::datapath {

class XdpDatapath final : public ForwardingDatapath<UdpDatapath> {
 public:
  static Result<std::unique_ptr<XdpDatapath>> open(const XdpOptions& options);
  // One for each engine, at one port.
  static Result<std::vector<std::unique_ptr<XdpDatapath>>> open_engines(const XdpOptions& options,
                                                                        uint8_t engines);

  const Capabilities& capabilities() const override { return capabilities_; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void wait(Nanos until) override;
  void take_wake() override;
  const DatapathStatistics& statistics() const override;

  // The statistics of the XDP sockets alone, for tests.
  const DatapathStatistics& xdp_statistics() const { return own_; }
  // True if every XDP socket busy polls, for tests.
  bool busy_polls() const;

 private:
  using Attachments = std::vector<std::shared_ptr<XdpAttachment>>;  // one per NIC

  explicit XdpDatapath(std::unique_ptr<UdpDatapath> udp) : ForwardingDatapath(std::move(udp)) {}

  static Result<Attachments> attach(const XdpOptions& options, const UdpDatapath& udp,
                                    uint8_t engines);
  static Result<std::unique_ptr<XdpDatapath>> make(const XdpOptions& options,
                                                   std::unique_ptr<UdpDatapath> udp,
                                                   const Attachments& attachments, uint8_t engine);
  Result<void> open_nics(const XdpOptions& options, const Attachments& attachments, uint8_t engine);
  size_t receive_udp(RxBatch& batch, const transport::Prediction* prediction);
  size_t receive_xdp(RxBatch& batch, const transport::Prediction* prediction);
  void flush(Nanos now);
  void watch_inputs(bool watch);

  Capabilities capabilities_;
  DatapathStatistics own_;          // of the XDP sockets
  mutable DatapathStatistics all_;  // with UDP's
  std::vector<std::unique_ptr<XdpNic>> nics_;
  size_t turn_ = 0;             // the NIC that the next receive() tries first
  XdpNic* lent_ = nullptr;      // the NIC whose frames are lent; null: UDP's
  uint32_t turns_ = 0;          // receives since UDP's last
  uint32_t looks_ = 0;          // receives that also look at UDP
  bool watched_ = false;        // the XDP sockets are part of descriptor()
  uint32_t busy_receives_ = 0;  // with input, since the last wait
  std::vector<uint32_t> unsent_;
  Nanos retry_at_ = Nanos::never();
};

}  // namespace heddle::datapath
