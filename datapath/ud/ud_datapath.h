// UdDatapath: the datapath contract over UD queue pairs of one RDMA port, with a UDP datapath at
// the same address behind it. The UDP datapath owns the regions, the source ports and the waiter;
// it carries greetings, what goes to peers without UD, and probes of routes. open_verbs() creates
// it (RdmaMode::kDatagrams).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ring.h"
#include "datapath/datapath.h"
#include "datapath/ud/peers.h"
#include "datapath/ud/receiver.h"
#include "datapath/ud/sender.h"
#include "datapath/udp/udp_datapath.h"
#include "datapath/verbs.h"
#include "datapath/verbs/device.h"
#include "datapath/verbs/params.h"
#include "datapath/verbs/queue_pair_ender.h"

namespace heddle::datapath {

class UdDatapath final : public Datapath {
 public:
  // On this port, by this library, which must outlive it. Closing waits for its queue pairs at most
  // `ends_within`. Errors: as open_verbs().
  static Result<std::unique_ptr<UdDatapath>> open(const VerbsOptions& options,
                                                  const RdmaChoice& choice,
                                                  const VerbsLibrary& library,
                                                  Nanos ends_within = verbs_params::kEndsWithin);
  ~UdDatapath() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  transport::Address local_address() const override { return udp_->local_address(); }
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
  // What was sent of it is copied, so nothing reads it any more.
  void unregister_memory(transport::RegionId region) override { udp_->unregister_memory(region); }
  bool poll_error(transport::NetworkError& error) override;
  const DatapathStatistics& statistics() const override;

  // Of the queue pairs alone, for tests.
  const DatapathStatistics& ud_statistics() const { return own_; }
  const UdSender& sender() const { return *sender_; }
  const UdReceiver& receiver() const { return *receiver_; }

 private:
  // What became of a burst that may go by queue pair.
  enum class Way : uint8_t { kTaken, kFull, kUdp };

  UdDatapath() = default;
  Result<void> attach(const VerbsOptions& options, const RdmaChoice& choice,
                      const VerbsLibrary& library, Nanos ends_within);
  bool by_pair(Nanos now, const transport::TxBurst& burst);
  Way send(Nanos now, const transport::TxBurst& burst, uint32_t& unsent);
  size_t send_udp(std::span<const transport::TxBurst> bursts, size_t first);
  void ask(Nanos now, const transport::Address& to, const UdPeers::Sending& sending);
  void greet(const transport::Address& to, GreetingKind kind, uint64_t nonce,
             const UdDestination* by_pair = nullptr);
  bool take(Nanos now, const transport::Address& from, std::span<const std::byte> datagram);
  void on_greeting(Nanos now, const transport::Address& from, const Greeting& greeting);
  void report_too_large(const transport::TxBurst& burst, uint32_t limit);
  size_t receive_udp(Nanos now, RxBatch& batch, const transport::Prediction* prediction);
  Nanos poll();
  void settle(Nanos now);
  void give_up();

  Capabilities capabilities_;
  DatapathStatistics own_;          // of the queue pairs
  mutable DatapathStatistics all_;  // with UDP's
  std::unique_ptr<UdpDatapath> udp_;
  std::shared_ptr<VerbsDevice> device_;
  std::unique_ptr<QueuePairEnder> ender_;
  std::unique_ptr<UdSender> sender_;
  std::unique_ptr<UdReceiver> receiver_;
  UdPeers peers_;
  Ring<transport::NetworkError> errors_;
  std::vector<uint32_t> unsent_;
  uint32_t key_ = 0;
  bool works_ = true;     // the device
  bool lent_ud_ = false;  // else the lent frames are UDP's
  bool refused_ = false;  // the latest transmit, for want of slots
  uint32_t turns_ = 0;    // receives since UDP's last
  uint32_t looks_ = 0;    // receives that also look at UDP
};

}  // namespace heddle::datapath
