// VerbsDatapath: the datapath contract over one RDMA port, with a UDP datapath at the same address
// behind it. The UDP datapath owns the regions and the waiter, and carries datagrams. open_verbs()
// creates it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "datapath/forwarding.h"
#include "datapath/udp/udp_datapath.h"
#include "datapath/verbs.h"
#include "datapath/verbs/chunk_receiver.h"
#include "datapath/verbs/chunk_sender.h"
#include "datapath/verbs/device.h"
#include "datapath/verbs/exchange.h"
#include "datapath/verbs/memory.h"
#include "datapath/verbs/open.h"
#include "datapath/verbs/queue_pair_ender.h"

namespace heddle::datapath {

class VerbsDatapath final : public ForwardingDatapath<UdpDatapath>, private ExchangeHandler {
 public:
  static Result<std::unique_ptr<VerbsDatapath>> open(const VerbsOptions& options);
  // On this port, by this library, which must outlive it.
  static Result<std::unique_ptr<VerbsDatapath>> open(const VerbsOptions& options,
                                                     const VerbsPort& port);
  // Over a UDP datapath at the port's address.
  static Result<std::unique_ptr<VerbsDatapath>> open(const VerbsOptions& options,
                                                     const VerbsPort& port,
                                                     std::unique_ptr<UdpDatapath> udp);

  const Capabilities& capabilities() const override { return capabilities_; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void wait(Nanos until) override;
  void take_wake() override;
  Result<transport::RegionId> register_device_memory(const DeviceMemory& memory,
                                                     size_t bytes) override;
  void unregister_memory(transport::RegionId region) override;
  transport::MemoryToken token(transport::RegionId region) const override;
  void admit(const transport::WriterAdmission& peer) override { receiver_->admit(peer); }
  void recall(const transport::RecallRequest& request) override;
  void fence(const transport::FenceRequest& request) override;
  const DatapathStatistics& statistics() const override;

  const ChunkSender& sender() const { return *sender_; }
  const ChunkReceiver& receiver() const { return *receiver_; }
  // For tests that drive two datapaths by one thread: takes what has come, and keeps it for the
  // next receive().
  void serve();
  bool has_events() const { return !events_.empty(); }

 private:
  explicit VerbsDatapath(std::unique_ptr<UdpDatapath> udp) : ForwardingDatapath(std::move(udp)) {}

  Result<void> attach(const VerbsOptions& options, const VerbsPort& port);
  void handle_message(const transport::Address& from, const ExchangeMessage& message) override;
  void handle_silence(uint64_t nonce) override { sender_->on_silence(nonce); }
  void send_chunk(Nanos now, const transport::TxBurst& burst);
  void poll_completions();
  void look();
  void settle();
  void give_up();

  Capabilities capabilities_;
  DatapathStatistics own_;          // of chunks
  mutable DatapathStatistics all_;  // with UDP's
  Ring<transport::NicEvent> events_;
  std::shared_ptr<VerbsDevice> device_;
  mutable std::unique_ptr<RegisteredMemory> memory_;
  std::unique_ptr<QueuePairEnder> ender_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<ChunkSender> sender_;
  std::unique_ptr<ChunkReceiver> receiver_;
  uint64_t secret_ = 0;
  uint32_t turns_ = 0;  // receives since the exchange's socket was read
  bool look_due_ = true;
  std::vector<uint32_t> unsent_;
};

}  // namespace heddle::datapath
