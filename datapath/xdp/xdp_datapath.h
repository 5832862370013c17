// XdpDatapath: the datapath contract over XDP sockets, with a UDP datapath on the same port behind
// it. The UDP datapath owns the regions, the source ports and the waiter; it sends and receives
// what XdpNic does not take. open_xdp() creates it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/udp/udp_datapath.h"
#include "datapath/xdp.h"
#include "datapath/xdp/nic.h"

namespace heddle::datapath {

class XdpDatapath final : public Datapath {
 public:
  static Result<std::unique_ptr<XdpDatapath>> open(const XdpOptions& options);

  const Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return udp_->local_address(); }
  std::vector<transport::Address> local_nics() const override { return udp_->local_nics(); }
  NicFacts nic_facts(uint8_t nic) const override { return udp_->nic_facts(nic); }
  uint16_t source_port(uint16_t path, uint8_t nic) const override {
    return udp_->source_port(path, nic);
  }
  Nanos now() override { return udp_->now(); }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void place(std::span<const transport::Placement> placements) override { udp_->place(placements); }
  void wait(Nanos until) override;
  void wake() override { udp_->wake(); }
  int descriptor() const override { return udp_->descriptor(); }
  int wake_descriptor() const override { return udp_->wake_descriptor(); }
  void take_wake() override;
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override {
    return udp_->register_memory(start, bytes);
  }
  void unregister_memory(transport::RegionId region) override { udp_->unregister_memory(region); }
  bool poll_error(transport::NetworkError& error) override { return udp_->poll_error(error); }
  const DatapathStatistics& statistics() const override;

  // The statistics of the XDP sockets alone, for tests.
  const DatapathStatistics& xdp_statistics() const { return own_; }

 private:
  XdpDatapath() = default;

  Result<void> attach(const XdpOptions& options);
  size_t receive_udp(RxBatch& batch, const transport::Prediction* prediction);
  size_t receive_xdp(RxBatch& batch, const transport::Prediction* prediction);
  void flush(Nanos now);
  void watch_inputs(bool watch);

  Capabilities capabilities_;
  DatapathStatistics own_;          // of the XDP sockets
  mutable DatapathStatistics all_;  // with UDP's
  std::unique_ptr<UdpDatapath> udp_;
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
