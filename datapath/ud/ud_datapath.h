// UdDatapath: the datapath contract over UD queue pairs of one RDMA port, with a UDP datapath at
// the same address behind it. The UDP datapath owns the regions, the source ports and the waiter;
// it carries greetings, what goes to peers without UD, and probes of routes. open_verbs() creates
// it (RdmaMode::kDatagrams).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ring.h"
#include "datapath/forwarding.h"
#include "datapath/ud/peers.h"
#include "datapath/ud/receiver.h"
#include "datapath/ud/sender.h"
#include "datapath/udp/udp_datapath.h"
#include "datapath/verbs.h"
#include "datapath/verbs/device.h"
#include "datapath/verbs/open.h"
#include "datapath/verbs/params.h"
#include "datapath/verbs/queue_pair_ender.h"
#include "transport/engine_share.h"

namespace heddle::datapath {

// Where a UD datapath is.
struct UdPlace {
  VerbsPort port;  // its library must outlive the datapath
  transport::EngineShare engine;
  Nanos ends_within = verbs_params::kEndsWithin;  // closing waits at most this for queue pairs
};

class UdDatapath final : public ForwardingDatapath<UdpDatapath> {
 public:
  // Errors: as open_verbs().
  static Result<std::unique_ptr<UdDatapath>> open(const VerbsOptions& options,
                                                  const UdPlace& place);
  // Over a UDP datapath at the port's address.
  static Result<std::unique_ptr<UdDatapath>> open(const VerbsOptions& options, const UdPlace& place,
                                                  std::unique_ptr<UdpDatapath> udp);
  ~UdDatapath() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  size_t transmit(std::span<const transport::TxBurst> bursts) override;
  uint32_t unsent(size_t burst) const override {
    return burst < unsent_.size() ? unsent_[burst] : 0;
  }
  size_t receive(RxBatch& batch, const transport::Prediction* prediction) override;
  void release(RxBatch& batch) override;
  void wait(Nanos until) override;
  void take_wake() override;
  bool poll_error(transport::NetworkError& error) override;
  const DatapathStatistics& statistics() const override;

  // Of the queue pairs alone, for tests.
  const DatapathStatistics& ud_statistics() const { return own_; }
  const UdSender& sender() const { return *sender_; }
  const UdReceiver& receiver() const { return *receiver_; }

 private:
  // What became of a burst that may go by queue pair.
  enum class Way : uint8_t { kTaken, kFull, kUdp };

  UdDatapath(std::unique_ptr<UdpDatapath> udp, const transport::EngineShare& engine)
      : ForwardingDatapath(std::move(udp)), engine_(engine) {}
  Result<void> attach(const VerbsOptions& options, const UdPlace& place);
  UdPeer peer_of(const transport::TxBurst& burst);
  bool by_pair(Nanos now, const transport::TxBurst& burst);
  Way send(Nanos now, const transport::TxBurst& burst, uint32_t& unsent);
  size_t send_udp(std::span<const transport::TxBurst> bursts, size_t first);
  void ask(Nanos now, const UdPeer& to, const UdPeers::Sending& sending);
  void greet(const UdPeer& to, GreetingKind kind, uint64_t nonce,
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
  const transport::EngineShare engine_;
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
