// FlowRun: the flows of a workload over a simulated fabric. Every host that has a part in it is a
// process with the production transport and driver; a host has one connection to each that it
// sends to, and each flow is one message on a channel of its own. First all connections are opened;
// then time 0 of the workload and of the topology's faults begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulator/tenant.h"
#include "simulator/world.h"
#include "topology/workload.h"

namespace heddle::simulator {

struct FlowRunOptions {
  uint64_t seed = 1;
  std::string congestion = "cubic";
  std::string selector = "reps";
  uint16_t paths = 16;  // of a connection, 1 to 256
  // Hosts are told the rate of their own NICs, for credits; else they measure it.
  bool tells_receive_rate = true;
  // Hosts know the smallest MTU of the fabric; else each path is probed for its own.
  bool tells_mtu = true;
  Bytes initial_window;  // of each connection; zero: twice what a round trip of the fabric holds
  Bytes window_limit = mebibytes(256);
  Bytes longest_burst;                    // on one of several paths; zero: one segment
  Bytes receive_capacity = mebibytes(4);  // of each host's socket
  Nanos turn_time = nanos(500);           // of a host's CPU, for each turn of its driver
  // Asked once for each host: where it tells what it observes, until the run is gone; null:
  // nowhere. What is on its wire it tells in spans of `wire_span`.
  std::function<events::Sink*(uint32_t host)> sink_of;
  Nanos wire_span = micros(10);
};

// What became of a flow; times count from time 0, never() is: not so far.
struct FlowOutcome {
  Nanos started = Nanos::never();
  Nanos received = Nanos::never();       // its last byte is where it belongs
  Nanos acked = Nanos::never();          // and its sender knows
  Nanos handshake;                       // of its connection, until it was open
  bool failed = false;                   // it never will end
  ErrorCode error = ErrorCode::kSystem;  // where it failed
};

// How the payload of a connection was shared among its paths; empty where it is no more.
struct PathShares {
  uint32_t from = 0;  // hosts
  uint32_t to = 0;
  std::vector<uint64_t> payload_bytes;  // of each path, repeats included
};

class FlowHost;

class FlowRun : private Agent {
 public:
  // CHECKs that the workload is valid on the topology and the options make sense. The topology's
  // routes must fit: Routes::check() of routes.h.
  FlowRun(const topology::Topology& topology, const topology::Workload& workload,
          const FlowRunOptions& options);
  ~FlowRun() override;
  FlowRun(const FlowRun&) = delete;
  FlowRun& operator=(const FlowRun&) = delete;

  // Handles at most `events` events. False: it is over, or time `until` is reached.
  bool advance(Nanos until, uint64_t events);

  // Every flow has ended, or none is under way and nothing is left that would set another off; and
  // every tenant is over.
  bool over() const;

  // --- what else lives here; before the first advance() ---
  // Its processes go before the run does.
  void add_tenant(Tenant& tenant) { tenants_.push_back(&tenant); }
  // A tenant is ready() now.
  void tenant_ready() { begin_if_ready(); }
  World& world() { return world_; }
  const FlowRunOptions& options() const { return options_; }
  // The longest, of a full packet and its answer, while nothing waits.
  Nanos round_trip() const { return round_trip_; }
  // How processes of a host are configured here; peers and what they carry apart.
  ProcessOptions process_options(uint32_t host) const;
  transport::EndpointOptions endpoint_options(uint32_t host) const;
  // Tells, as a real one would, of an endpoint on all NICs of a host.
  void tell_endpoint(events::Sink& sink, uint32_t host, uint16_t port) const;

  bool opening() const { return opening_; }
  // Since time 0; zero while connections are opened.
  Nanos now() const { return opening_ ? Nanos{} : std::max(world_.now() - zero_, Nanos{}); }
  uint64_t ended() const { return ended_; }  // flows that arrived or failed
  // Flows whose bytes arrived other than they were sent.
  uint64_t wrong() const { return wrong_; }
  const topology::Workload& workload() const { return workload_; }
  std::span<const FlowOutcome> outcomes() const { return outcomes_; }
  // Counters of all senders together.
  transport::ConnectionStatistics totals() const;
  // By the transport of a host that has a part in it.
  size_t transport_bytes_held(uint32_t host) const;
  const Network& network() const { return network_; }
  Network& network() { return network_; }
  // What each path of each connection carried, by sender and receiver.
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
  void add_process(uint32_t host, uint32_t peers);
  void connect();
  void begin_if_ready();
  void begin();
  void run(Nanos now) override;
  void schedule_next();
  void change_hosts();

  // What hosts ask and tell.
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
    uint32_t connection = 0;  // into connections_
    uint16_t channel = 0;
  };
  // What is left of a trigger: it fires after so many ends.
  struct Fuse {
    uint32_t ends = 1;
    std::vector<uint32_t> waiting;  // flows, the next at the back
  };

  topology::Workload workload_;
  FlowRunOptions options_;
  std::vector<topology::LinkChange> changes_;  // of the topology, by time, and so below
  std::vector<topology::HostChange> host_changes_;
  World world_;
  Network& network_;
  uint32_t smallest_mtu_;
  Nanos round_trip_;
  std::vector<std::vector<NicId>> nics_;  // of each host
  std::vector<Tenant*> tenants_;
  std::vector<std::unique_ptr<FlowHost>> hosts_;  // null: has no part
  std::vector<Connection> connections_;           // by sender and receiver
  std::vector<FlowState> flows_;
  std::vector<FlowOutcome> outcomes_;
  std::vector<Fuse> fuses_;         // of each trigger
  std::vector<uint32_t> by_start_;  // flows that wait for no trigger
  size_t started_ = 0;              // of by_start_
  size_t changed_ = 0;              // of changes_
  size_t hosts_changed_ = 0;        // of host_changes_
  uint64_t unopened_ = 0;           // connections
  uint64_t under_way_ = 0;          // flows begun that have not ended
  uint64_t ended_ = 0;
  uint64_t wrong_ = 0;
  bool opening_ = true;
  bool tenants_begun_ = false;
  Nanos zero_;
  AgentId agent_;
};

}  // namespace heddle::simulator
