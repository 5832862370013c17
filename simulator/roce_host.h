// RoceHost: a host of a FlowRun with RoCE NICs. It has one queue pair, and so one path, to each
// host that it sends to; a flow is one message on it, and programs of the host may send messages of
// their own. NICs work without the host's processes, so pauses of the host do not stop them.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/flow_host.h"
#include "simulator/roce/nic.h"
#include "simulator/roce_options.h"

namespace heddle::simulator {

// A program that sends messages; they go by the numbers that it gave them.
class RoceMessageUser {
 public:
  virtual ~RoceMessageUser() = default;
  virtual void handle_message_arrived(uint32_t message) = 0;
  virtual void handle_message_acked(uint32_t message) = 0;
  virtual void handle_message_failed(uint32_t message) = 0;
};

class RoceHost final : public FlowHost, public roce::NicUser {
 public:
  // `options.mtu_bytes` is what the fabric passes. `network` must outlive it.
  RoceHost(FlowRun& run, uint32_t host, Network& network, const RoceOptions& options);

  void will_send(uint32_t /*flow*/, uint32_t /*to*/) override {}
  void will_receive(uint32_t /*flow*/, uint32_t /*from*/) override {}
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes) override {
    return network_.virtual_memory().add(pattern, bytes);
  }
  // Queue pairs are exchanged beforehand: the connection is open at once.
  void connect(uint32_t to, FlowHost& peer) override;
  bool start(uint32_t flow, uint16_t channel) override;
  void add_statistics(transport::ConnectionStatistics& sum) const override;
  std::vector<uint64_t> payload_by_path(uint32_t to) const override;
  void add_counters(RoceCounters& sum) const override;

  // Messages of all hosts share one user, and numbers below kMessages.
  static constexpr uint32_t kMessages = 1U << 31;
  void set_message_user(RoceMessageUser* user) { message_user_ = user; }
  // Its user at the receiver is notified of the arrival. False: the queue pair has failed.
  bool send_message(RoceHost& to, uint32_t message, uint64_t bytes);

 private:
  struct Pair {
    size_t nic = 0;  // index into nics_
    uint32_t requester = 0;
  };

  void handle_arrived(uint32_t flow, uint64_t offset, const Content& content, bool last) override;
  void handle_acked(uint32_t flow) override;
  void handle_failed(uint32_t flow) override;
  Pair& open(RoceHost& to);

  Network& network_;
  std::vector<std::unique_ptr<roce::RoceNic>> nics_;
  std::unordered_map<uint32_t, Pair> pairs_;  // by peer
  RoceMessageUser* message_user_ = nullptr;
  transport::RegionId message_region_ = transport::kNoRegion;
};

}  // namespace heddle::simulator
