// TransportHost: a host of a FlowRun with the production transport. It opens a connection to each
// host that it sends to, posts receives and sends, and reports completions to the run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/flow_host.h"
#include "simulator/transport_process.h"

namespace heddle::simulator {

class TransportHost final : public FlowHost, private TransportProgram {
 public:
  TransportHost(FlowRun& run, uint32_t host, TransportProcess& process);
  ~TransportHost() override;

  void will_send(uint32_t flow, uint32_t to) override { sends_[to].flows.push_back(flow); }
  void will_receive(uint32_t flow, uint32_t from) override {
    receives_[from].flows.push_back(flow);
  }
  transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes) override {
    return process_.register_virtual(pattern, bytes);
  }
  void connect(uint32_t to, FlowHost& peer) override;
  bool start(uint32_t flow, uint16_t channel) override;
  void follow_plan(uint32_t to) override;
  void add_statistics(transport::ConnectionStatistics& sum) const override;
  std::vector<uint64_t> payload_by_path(uint32_t to) const override;
  size_t transport_bytes_held() const override { return process_.endpoint().bytes_held(); }

 private:
  // A connection to a peer, and its flows; a flow's channel is its index.
  struct Peer {
    transport::ConnectionId connection = 0;
    bool open = false;
    std::vector<uint32_t> flows;
  };

  bool handle_turn(TransportProcess& process) override;
  void take(const transport::Notice& notice);
  void take(const transport::Completion& completion);
  void post_receives(Peer& peer);
  template <typename Post>
  bool for_each_message(transport::RegionId region, uint32_t flow, Post post);
  bool ended(uint32_t flow);

  TransportProcess& process_;
  std::unordered_map<uint32_t, Peer> sends_;     // by host
  std::unordered_map<uint32_t, Peer> receives_;  // by host
  std::unordered_map<transport::ConnectionId, uint32_t> sends_to_;
  // of flows that consist of several messages
  std::unordered_map<uint32_t, uint32_t> messages_left_;
};

}  // namespace heddle::simulator
