// UdpDatapath: the datapath contract, made of one receiver per NIC, a sender and a waiter.
// open_udp() creates it.
#pragma once

#include <memory>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/regions.h"
#include "datapath/udp.h"
#include "datapath/udp/network_errors.h"
#include "datapath/udp/receiver.h"
#include "datapath/udp/sender.h"
#include "datapath/udp/socket.h"
#include "datapath/udp/waiter.h"

namespace heddle::datapath {

class UdpDatapath final : public Datapath {
 public:
  static Result<std::unique_ptr<UdpDatapath>> open(const UdpOptions& options);
  // One for each engine (at least 2), at one port.
  static Result<std::vector<std::unique_ptr<UdpDatapath>>> open_engines(const UdpOptions& options,
                                                                        uint8_t engines);

  const Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return nics_.front(); }
  std::vector<transport::Address> local_nics() const override { return nics_; }
  NicFacts nic_facts(uint8_t nic) const override;
  uint16_t source_port(uint16_t path, uint8_t nic) const override;
  Nanos now() override;
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override { return sender_.unsent(burst); }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void place(std::span<const transport::Placement> placements) override;
  void wait(Nanos until) override;
  void wake() override { waiter_.wake(); }
  int descriptor() const override { return waiter_.descriptor(); }
  int wake_descriptor() const override { return waiter_.wake_descriptor(); }
  void take_wake() override { waiter_.take_wake(); }
  Result<transport::RegionId> register_memory(void* start, size_t bytes) override;
  void unregister_memory(transport::RegionId region) override;
  bool poll_error(transport::NetworkError& error) override;
  const DatapathStatistics& statistics() const override;

  // For a datapath that is composed of this one (datapath/xdp): its regions; input at a further
  // descriptor ends wait(); and the largest datagram becomes at most `bytes`.
  const RegionTable& regions() const { return regions_; }
  Result<void> watch_input(int descriptor) { return waiter_.watch_input(descriptor); }
  void ignore_input(int descriptor) { waiter_.ignore_input(descriptor); }
  void limit_datagrams(uint32_t bytes);

  // Access to the sockets, for tests.
  const Receiver& receiver(size_t nic = 0) const { return *receivers_[nic]; }
  const Sender& sender() const { return sender_; }

 private:
  static Result<std::unique_ptr<UdpDatapath>> open(const UdpOptions& options,
                                                   std::vector<ReceiveSocket> receives);
  UdpDatapath(const UdpOptions& options, std::vector<ReceiveSocket> receives,
              std::vector<Socket> sends, bool segments);

  std::vector<transport::Address> nics_;
  Capabilities capabilities_;
  mutable DatapathStatistics statistics_;
  RegionTable regions_;
  NetworkErrors errors_;
  std::vector<std::unique_ptr<Receiver>> receivers_;  // one per NIC
  size_t turn_ = 0;  // the receiver that the next receive() tries first
  size_t lent_ = 0;  // the receiver whose frames are lent
  Sender sender_;
  Waiter waiter_;
  uint32_t looks_due_ = 0;  // weighted turns since the last check of the send sockets
};

}  // namespace heddle::datapath
