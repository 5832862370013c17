// FlowHost: the program of one host in a FlowRun. It opens a connection to each host that it sends
// to, posts receives and sends, and reports completions to the run.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/flow_run.h"

namespace heddle::simulator {

class FlowHost : public TransportProgram {
 public:
  FlowHost(FlowRun& run, uint32_t host, TransportProcess& process);

  // Flow number `flow` goes to, or comes from, that host. Called for all flows before connect().
  void will_send(uint32_t flow, uint32_t to) { sends_[to].flows.push_back(flow); }
  void will_receive(uint32_t flow, uint32_t from) { receives_[from].flows.push_back(flow); }
  void connect(uint32_t to, const transport::Address& address);

  // Posts the message of a flow. False: its connection is not open.
  bool start(uint32_t flow, uint16_t channel);

  TransportProcess& process() { return process_; }
  // Adds the counters of the host's sending connections.
  void add_statistics(transport::ConnectionStatistics& sum);
  // Payload sent to that host per path, retransmissions included; empty if the connection is gone.
  std::vector<uint64_t> payload_by_path(uint32_t to);

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

  FlowRun& run_;
  uint32_t host_;
  TransportProcess& process_;
  std::unordered_map<uint32_t, Peer> sends_;     // by host
  std::unordered_map<uint32_t, Peer> receives_;  // by host
  std::unordered_map<transport::ConnectionId, uint32_t> sends_to_;
  // of flows that consist of several messages
  std::unordered_map<uint32_t, uint32_t> messages_left_;
};

}  // namespace heddle::simulator
