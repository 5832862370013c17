// FlowHost: the program of one host in a FlowRun. It opens a connection to each host that it sends
// to, posts its receives and what it is told to send, and tells the run what has ended.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/flow_run.h"

namespace heddle::simulator {

class FlowHost : public TransportProgram {
 public:
  FlowHost(FlowRun& run, uint32_t host, TransportProcess& process);

  // Flow number `flow` goes to, or comes from, that host. All are told before connect().
  void will_send(uint32_t flow, uint32_t to) { sends_[to].flows.push_back(flow); }
  void will_receive(uint32_t flow, uint32_t from) { receives_[from].flows.push_back(flow); }
  void connect(uint32_t to, const transport::Address& address);

  // Posts the message of a flow. False: its connection is not open.
  bool start(uint32_t flow, uint16_t channel);

  TransportProcess& process() { return process_; }
  // Adds the counters of what it sends.
  void add_statistics(transport::ConnectionStatistics& sum);
  // Of what it sent to that host, repeats included; empty where the connection is no more.
  std::vector<uint64_t> payload_by_path(uint32_t to);

 private:
  // A connection with a peer and the flows that it carries, each on the channel of its place.
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
  std::unordered_map<uint32_t, uint32_t> messages_left_;  // of flows that are several
};

}  // namespace heddle::simulator
