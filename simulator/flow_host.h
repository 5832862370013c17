// FlowHost: a host of a FlowRun that sends and receives flows: over the production transport
// (transport_host.h), or over a NIC with a transport of its own (roce_host.h). All hosts of a run
// are of one kind. The run calls it; it reports to the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/flow_run.h"

namespace heddle::simulator {

class FlowHost {
 public:
  virtual ~FlowHost() = default;
  FlowHost(const FlowHost&) = delete;
  FlowHost& operator=(const FlowHost&) = delete;

  // Flow number `flow` goes to, or comes from, that host. Called for all flows before connect().
  virtual void will_send(uint32_t flow, uint32_t to) = 0;
  virtual void will_receive(uint32_t flow, uint32_t from) = 0;
  // Memory of a flow that initially holds the bytes of `pattern`.
  virtual transport::RegionId register_virtual(uint64_t pattern, uint64_t bytes) = 0;
  // Opens the connection to host `to`; the run is notified when it is open.
  virtual void connect(uint32_t to, FlowHost& peer) = 0;
  // Posts the messages of a flow. False: its connection is not open.
  virtual bool start(uint32_t flow, uint16_t channel) = 0;

  // The plan was replaced: its shares for the connection to that host hold from now on.
  virtual void follow_plan(uint32_t /*to*/) {}

  // Adds the counters of the host's sending connections.
  virtual void add_statistics(transport::ConnectionStatistics& sum) const = 0;
  // Payload sent to that host per path, retransmissions included; empty if the connection is gone.
  virtual std::vector<uint64_t> payload_by_path(uint32_t to) const = 0;
  // Adds the counters of RoCE NICs.
  virtual void add_counters(RoceCounters& /*sum*/) const {}
  // Bytes held by the transport; zero where a NIC holds its state.
  virtual size_t transport_bytes_held() const { return 0; }

 protected:
  FlowHost(FlowRun& run, uint32_t host) : run_(run), host_(host) {}

  uint32_t host() const { return host_; }
  const topology::Workload& workload() const { return run_.workload(); }
  transport::RegionId region_sent(uint32_t flow) const { return run_.region_sent(flow); }
  transport::RegionId region_received(uint32_t flow) const { return run_.region_received(flow); }
  // The shares of the plan for the connection to that host; none: no plan.
  std::span<const transport::PlannedShare> planned_shares(uint32_t to) const {
    const auto found = run_.plan().find({host_, to});
    if (found == run_.plan().end()) return {};
    return found->second;
  }
  void report_opened(uint32_t to) { run_.on_opened(host_, to); }
  void report_refused(uint32_t to, ErrorCode error) { run_.on_refused(host_, to, error); }
  void report_lost(uint32_t to, ErrorCode error) { run_.on_lost(host_, to, error); }
  void report_received(uint32_t flow, bool ok, ErrorCode error) {
    run_.on_received(flow, ok, error);
  }
  void report_sent(uint32_t flow, bool ok, ErrorCode error) { run_.on_sent(flow, ok, error); }

 private:
  FlowRun& run_;
  uint32_t host_;
};

}  // namespace heddle::simulator
