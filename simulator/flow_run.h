// FlowRun: the flows of a workload on a simulated fabric. Every participating host is a process
// with the production transport and driver, or has RoCE NICs to compare with (roce_host.h). A host
// has one connection to each host that it sends to; each flow is one message on its own channel.
// First all connections open; then time 0 of the workload and of the topology's faults begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulator/flows/change_script.h"
#include "simulator/flows/start_order.h"
#include "simulator/roce_options.h"
#include "simulator/tenant.h"
#include "simulator/world.h"
#include "topology/workload.h"
#include "transport/endpoint.h"

namespace heddle::simulator {

// Shares of paths by sender and receiver (hosts), for the selector `plan`.
using FlowPlan = std::map<std::pair<uint32_t, uint32_t>, std::vector<transport::PlannedShare>>;

// The plan that connections follow from a time on.
struct Replan {
  Nanos at;  // from time 0
  FlowPlan plan;
};

struct FlowRunOptions {
  uint64_t seed = 1;
  std::string congestion = "cubic";
  std::string selector = "reps";
  uint16_t paths = 16;  // per connection, 1 to 256
  // Hosts know the rate of their own NICs, for credits; otherwise they measure it.
  bool advertises_receive_rate = true;
  // Hosts know the smallest MTU of the fabric; otherwise each path probes its own.
  bool advertises_mtu = true;
  bool discovers = false;  // connections find the fabric's routes
  Bytes initial_window;    // per connection; zero: twice the fabric's bandwidth-delay product
  Bytes window_limit = mebibytes(256);
  Bytes longest_burst;                           // on one of several paths; zero: one segment
  Bytes receive_capacity = mebibytes(4);         // per host socket
  Nanos turn_time = nanos(500);                  // CPU time of a host per driver turn
  Nanos routes_converge_after = Nanos::never();  // see NetworkOptions
  // Flows run over RoCE NICs in place of the transport; options of the transport then have no
  // effect, and sink_of has none.
  std::optional<RoceOptions> roce;
  FlowPlan plan;
  std::vector<Replan> replans;  // in the order of their times
  // Called once per host: the sink of its events, which must outlive the run; null: none. Wire
  // traffic is reported in spans of `wire_span`.
  std::function<events::Sink*(uint32_t host)> sink_of;
  Nanos wire_span = micros(10);
};

// The outcome of a flow; times count from time 0; never() means not yet.
struct FlowOutcome {
  Nanos started = Nanos::never();
  Nanos received = Nanos::never();       // the last byte is in place
  Nanos acked = Nanos::never();          // the sender has been notified
  Nanos handshake;                       // of its connection, until it was open
  bool failed = false;                   // it will never end
  ErrorCode error = ErrorCode::kSystem;  // where it failed
};

// Distribution of a connection's payload over its paths; empty if the connection is gone.
struct PathShares {
  uint32_t from = 0;  // hosts
  uint32_t to = 0;
  std::vector<uint64_t> payload_bytes;  // per path, retransmissions included
};

// Round trip of full-size packets from the first NIC to the farthest one, without queueing: what a
// site knows about its fabric.
Nanos longest_round_trip(const topology::Topology& topology);

class FlowHost;
class RoceHost;

class FlowRun : private Agent {
 public:
  // CHECKs that workload and options are valid for the topology. The topology's routes must pass
  // Routes::check() of routes.h.
  FlowRun(const topology::Topology& topology, const topology::Workload& workload,
          const FlowRunOptions& options);
  ~FlowRun() override;
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  // Handles at most `events` events. False: the run is over, or time `until` is reached.
  bool advance(Nanos until, uint64_t events);

  // True if every flow has ended, or none is in progress and no remaining one can start; and every
  // tenant is done.
  bool over() const;

  // --- other processes in this world; before the first advance() ---
  // The tenant's processes must be destroyed before the run.
  void add_tenant(Tenant& tenant) { tenants_.push_back(&tenant); }
  // The RoCE NICs of a host, for its messages; only with options().roce.
  RoceHost& roce_host(uint32_t host);
  // Called when a tenant becomes ready().
  void tenant_ready() { begin_if_ready(); }
  World& world() { return world_; }
  const FlowRunOptions& options() const { return options_; }
  // The plan that is followed now, and how often it was replaced.
  const FlowPlan& plan() const {
    return replanned_ == 0 ? options_.plan : options_.replans[replanned_ - 1].plan;
  }
  uint32_t replanned() const { return replanned_; }
  // The longest round trip of a full packet and its reply without queueing.
  Nanos round_trip() const { return round_trip_; }
  // Configuration of a host's processes here, except for peers and workload.
  ProcessOptions process_options(uint32_t host) const;
  transport::EndpointOptions endpoint_options(uint32_t host) const;
  // Emits the events of an endpoint on all NICs of a host, as a real endpoint does.
  void record_endpoint(events::Sink& sink, uint32_t host, uint16_t port) const;

  bool opening() const { return opening_; }
  // Time since time 0; zero while connections open.
  Nanos now() const { return opening_ ? Nanos{} : std::max(world_.now() - zero_, Nanos{}); }
  uint64_t ended() const { return ended_; }  // flows that arrived or failed
  // Flows whose received bytes were wrong.
  uint64_t wrong() const { return wrong_; }
  const topology::Workload& workload() const { return workload_; }
  std::span<const FlowOutcome> outcomes() const { return outcomes_; }
  // Sum of all senders' counters.
  transport::ConnectionStatistics totals() const;
  // Of all RoCE NICs; zero without them.
  RoceCounters roce_counters() const;
  // Bytes held by the transport of a participating host.
  size_t transport_bytes_held(uint32_t host) const;
  const Network& network() const { return network_; }
  Network& network() { return network_; }
  // Payload per path of each connection, ordered by sender and receiver.
  std::vector<PathShares> path_shares() const;

 private:
  friend class FlowHost;

  struct Connection {
    uint32_t from = 0;
    uint32_t to = 0;
    Nanos handshake;
    ErrorCode error = ErrorCode::kSystem;  // where it was refused or lost
  };

  void add_hosts();
  void add_host(uint32_t host, uint32_t peers);
  void connect();
  void begin_if_ready();
  void begin();
  void run(Nanos now) override;
  void schedule_next();
  void change_hosts();
  void change_plan();

  // Calls from hosts.
  transport::RegionId region_sent(uint32_t flow) const { return flows_[flow].sent; }
  transport::RegionId region_received(uint32_t flow) const { return flows_[flow].received; }
  void on_opened(uint32_t from, uint32_t to);
  void on_refused(uint32_t from, uint32_t to, ErrorCode error);
  void on_lost(uint32_t from, uint32_t to, ErrorCode error);
  void on_received(uint32_t flow, bool ok, ErrorCode error);
  void on_sent(uint32_t flow, bool ok, ErrorCode error);

  Connection& connection(uint32_t from, uint32_t to);
  void start(uint32_t flow);
  void end(uint32_t flow);
  void fail(uint32_t flow, ErrorCode error);
  void fire(uint32_t trigger);

  struct FlowState {
    transport::RegionId sent = transport::kNoRegion;
    transport::RegionId received = transport::kNoRegion;
    uint32_t connection = 0;  // index into connections_
    uint16_t channel = 0;
  };

  topology::Workload workload_;
  FlowRunOptions options_;
  ChangeScript changes_;
  World world_;
  Network& network_;
  uint32_t smallest_mtu_;
  Nanos round_trip_;
  std::vector<std::vector<NicId>> nics_;  // per host
  std::vector<Tenant*> tenants_;
  std::vector<std::unique_ptr<FlowHost>> hosts_;  // null: does not participate
  std::vector<Connection> connections_;           // by sender and receiver
  std::vector<FlowState> flows_;
  std::vector<FlowOutcome> outcomes_;
  StartOrder order_;
  uint64_t unopened_ = 0;   // number of connections
  uint64_t under_way_ = 0;  // flows that started and have not ended
  uint64_t ended_ = 0;
  uint64_t wrong_ = 0;
  uint32_t replanned_ = 0;
  bool opening_ = true;
  bool tenants_begun_ = false;
  Nanos zero_;
  AgentId agent_;
};

}  // namespace heddle::simulator
