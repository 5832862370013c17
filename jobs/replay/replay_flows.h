// ReplayFlows: the flows that a real host sends and receives, as the simulator has them: one
// connection to each host that it sends to, each flow one message on a channel of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/endpoint.h"
#include "jobs/mirrored_memory.h"
#include "simulator/flow_run.h"
#include "topology/workload.h"

namespace heddle::jobs {

class ReplayFlows {
 public:
  // `addresses`: of each host's endpoint; of those without flows it is not used. The endpoint
  // accepts connections and has topology::kMaxFlowsOfPair channels; it and the workload outlive
  // this. Errors: kExhausted.
  static Result<std::unique_ptr<ReplayFlows>> create(const topology::Workload& workload,
                                                     uint32_t host, engine::Endpoint& endpoint,
                                                     std::vector<transport::Address> addresses);
  ~ReplayFlows();
  ReplayFlows(const ReplayFlows&) = delete;
  ReplayFlows& operator=(const ReplayFlows&) = delete;

  // Connects to all peers, and waits for theirs. Flows of connections that cannot be opened have
  // failed. Errors: kCancelled.
  Result<void> open();
  // From `zero` on, as the endpoint's clock has it. Errors: kCancelled.
  Result<void> run(Nanos zero);

  // Of every flow of the workload, as far as this host has data: a receiver sets `received`, a
  // sender all other fields.
  const std::vector<simulator::FlowOutcome>& outcomes() const { return outcomes_; }

 private:
  struct Peer {
    uint32_t host = 0;
    engine::Connection connection = 0;
    std::vector<uint32_t> flows;
    uint32_t word = 0;  // the sender's number, its first message
    engine::Operation hello;
    bool open = false;
    bool over = false;  // it will not open, or was lost
  };
  struct UnderWay {
    engine::Operation operation;
    uint32_t flow = 0;
    bool sends = false;
  };

  ReplayFlows(const topology::Workload& workload, uint32_t host, engine::Endpoint& endpoint,
              std::vector<transport::Address> addresses);
  void connect();
  bool open_more(Nanos began);
  bool greet(Peer& from);
  void post_receives(Peer& from);
  void fail_flows(Peer& to, ErrorCode error);
  bool start_due();
  void start(uint32_t flow);
  bool reap();
  uint64_t message_bytes(uint32_t flow, uint32_t message) const;
  // False: it was not.
  bool note_posted(uint32_t flow, const Result<engine::Operation>& posted, bool sends);
  void end_sent(const UnderWay& each, const engine::Outcome& outcome);
  void fire(uint32_t trigger);
  Result<void> sleep(Nanos until);
  Nanos now() const { return endpoint_.now() - zero_; }

  const topology::Workload& workload_;
  const uint32_t host_;
  engine::Endpoint& endpoint_;
  const std::vector<transport::Address> addresses_;
  MirroredMemory memory_;
  uint64_t half_bytes_ = 0;                            // what is sent, and what is received
  std::map<uint32_t, Peer> receivers_;                 // that it sends to, by host
  std::map<uint32_t, std::vector<uint32_t>> to_come_;  // flows by sender, not yet connected
  std::vector<std::unique_ptr<Peer>> senders_;
  std::vector<uint32_t> by_start_;  // flows of its own that wait for nothing
  size_t started_ = 0;
  std::vector<uint32_t> fuses_;                 // ends until a trigger fires
  std::vector<std::vector<uint32_t>> waiting_;  // flows of a trigger, the next at the back
  std::vector<UnderWay> under_way_;
  std::vector<simulator::FlowOutcome> outcomes_;
  std::vector<uint16_t> channels_;       // of each flow
  std::vector<uint32_t> messages_left_;  // of each flow
  Nanos zero_;
};

}  // namespace heddle::jobs
