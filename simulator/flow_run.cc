// The flows of a workload on a simulated fabric: connection setup, the script of changes, and
// triggers that ended flows fire.
#include "simulator/flow_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "events/events.h"
#include "simulator/flow_host.h"
#include "simulator/params.h"
#include "simulator/roce_host.h"
#include "simulator/transport_host.h"

namespace heddle::simulator {

namespace {

uint32_t smallest_mtu(const topology::Topology& topology) {
  uint32_t smallest = UINT32_MAX;
  for (const topology::Link& link : topology.links) {
    smallest = std::min(smallest, link.shape.mtu_bytes);
  }
  return smallest;
}

// A NIC accepts another packet while it holds at most two, like byte queue limits (BQL): a longer
// local queue would make all paths look equally slow. Of several NICs one would run dry while the
// sender's choices in a row are the other's, and BQL's limit would grow.
Bytes nic_queue(const topology::Topology& topology) {
  uint32_t largest = 0;
  for (const topology::Link& link : topology.links) {
    largest = std::max(largest, link.shape.mtu_bytes);
  }
  const uint64_t packets = topology.nics.size() > topology.hosts.size() ? 8 : 2;
  return {packets * (largest + kWireOverheadBytes)};
}

BitsPerSec rate_of_nics(const Network& network, const std::vector<NicId>& nics) {
  BitsPerSec sum;
  for (const NicId nic : nics) sum.count += network.egress_shape(nic).rate.count;
  return sum;
}

// The topology's changes take effect relative to the workload's start, so the network must not
// apply them itself.
topology::Topology without_changes(const topology::Topology& topology) {
  topology::Topology quiet = topology;
  quiet.changes.clear();
  quiet.host_changes.clear();
  return quiet;
}

}  // namespace

Nanos longest_round_trip(const topology::Topology& topology) {
  const size_t nodes = topology.nics.size() + topology.switches.size();
  std::vector<std::vector<std::pair<NodeId, Nanos>>> hops(nodes);
  for (const topology::Link& link : topology.links) {
    const Bytes full = {link.shape.mtu_bytes + kWireOverheadBytes - kIpUdpBytes};
    const Nanos takes = link.shape.delay + transmit_time(full, link.shape.rate);
    hops[node_id(topology, link.a)].push_back({node_id(topology, link.b), takes});
    hops[node_id(topology, link.b)].push_back({node_id(topology, link.a), takes});
  }
  std::vector<Nanos> reached(nodes, Nanos::never());
  std::vector<NodeId> order = {0};
  reached[0] = {};
  Nanos longest;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const auto& [to, takes] : hops[order[i]]) {
      if (reached[to] != Nanos::never()) continue;
      reached[to] = reached[order[i]] + takes;
      longest = std::max(longest, reached[to]);
      order.push_back(to);
    }
  }
  return 2 * longest;
}

FlowRun::FlowRun(const topology::Topology& topology, const topology::Workload& workload,
                 const FlowRunOptions& options)
    : workload_(workload),
      options_(options),
      changes_(topology),
      world_({.topology = without_changes(topology),
              .network = {.nic_queue = nic_queue(topology),
                          .routes_converge_after = options.routes_converge_after},
              .changes = {}},
             options.seed),
      network_(world_.network()),
      smallest_mtu_(smallest_mtu(topology)),
      round_trip_(longest_round_trip(topology)),
      nics_(topology.hosts.size()),
      hosts_(topology.hosts.size()),
      flows_(workload.flows.size()),
      outcomes_(workload.flows.size()),
      order_(workload_),
      zero_(world_.now()),
      agent_(network_.add_agent(*this)) {
  CHECK(topology::validate(workload, topology).has_value());
  for (const uint32_t link : workload_.failed_links) {
    network_.apply({.link = link, .kind = topology::LinkChangeKind::kDown});
    network_.apply({.link = link, .kind = topology::LinkChangeKind::kNotice});
  }
  for (NicId nic = 0; nic < network_.topology().nics.size(); ++nic) {
    nics_[network_.topology().nics[nic].host].push_back(nic);
  }
  add_hosts();
  connect();
}

FlowRun::~FlowRun() {
  hosts_.clear();
  network_.remove_agent(agent_);
}

// Flows are sorted by connection to find the connections; the workload's own order stays unchanged.
void FlowRun::add_hosts() {
  std::vector<uint32_t> order(workload_.flows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto ends = [this](uint32_t i) {
    return std::pair{workload_.flows[i].from, workload_.flows[i].to};
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return ends(a) < ends(b); });
  std::vector<uint32_t> peers(hosts_.size());
  uint16_t channel = 0;
  for (const uint32_t i : order) {
    const auto [from, to] = ends(i);
    if (connections_.empty() ||
        std::pair{connections_.back().from, connections_.back().to} != ends(i)) {
      connections_.push_back({.from = from, .to = to});
      ++peers[from];
      ++peers[to];
      channel = 0;
    }
    flows_[i].connection = static_cast<uint32_t>(connections_.size() - 1);
    flows_[i].channel = channel++;
  }
  for (uint32_t host = 0; host < hosts_.size(); ++host) {
    if (peers[host] > 0) add_host(host, peers[host]);
  }
  for (const uint32_t i : order) {
    const auto [from, to] = ends(i);
    FlowHost& sender = *hosts_[from];
    FlowHost& receiver = *hosts_[to];
    sender.will_send(i, to);
    receiver.will_receive(i, from);
    const uint64_t bytes = workload_.flows[i].bytes.count;
    flows_[i].sent = sender.register_virtual(2 * uint64_t{i}, bytes);
    flows_[i].received = receiver.register_virtual(2 * uint64_t{i} + 1, bytes);
  }
}

void FlowRun::add_host(uint32_t host, uint32_t peers) {
  if (options_.roce) {
    RoceOptions roce = *options_.roce;
    roce.mtu_bytes = rdma_mtu(roce.mtu_bytes, smallest_mtu_);
    hosts_[host] = std::make_unique<RoceHost>(*this, host, network_, roce);
    return;
  }
  TransportProcessOptions options;
  options.process = process_options(host);
  options.transport = endpoint_options(host);
  options.transport.max_connections = peers;
  options.transport.stranger_bytes = {0};
  options.transport.max_channels = topology::kMaxFlowsOfPair;
  options.transport.max_posted = topology::kMaxFlowsOfPair;
  if (options_.sink_of) options.sink = options_.sink_of(host);
  if (options.sink != nullptr) {
    record_endpoint(*options.sink, host, SimDatapathOptions{}.port);
  }
  TransportProcess& process = world_.add(options);
  if (options.sink != nullptr) process.driver().count_wire(*options.sink, options_.wire_span);
  hosts_[host] = std::make_unique<TransportHost>(*this, host, process);
}

RoceHost& FlowRun::roce_host(uint32_t host) {
  CHECK(options_.roce.has_value());
  if (hosts_[host] == nullptr) add_host(host, 0);
  return static_cast<RoceHost&>(*hosts_[host]);
}

void FlowRun::record_endpoint(events::Sink& sink, uint32_t host, uint16_t port) const {
  const std::vector<NicId>& nics = nics_[host];
  const transport::Address first = address_of(nics.front(), port);
  const Nanos now = world_.now();
  sink.on(events::EndpointOpened{now, transport::host_part(first, 0),
                                 transport::host_part(first, 8), first.port});
  for (size_t i = 0; i < nics.size(); ++i) {
    const transport::Address address = address_of(nics[i], first.port);
    const std::string name = "nic" + std::to_string(i);
    sink.on(events::NicOpened{now, static_cast<uint8_t>(i), transport::host_part(address, 0),
                              transport::host_part(address, 8), events::Text(name),
                              network_.egress_shape(nics[i]).rate.count});
  }
}

ProcessOptions FlowRun::process_options(uint32_t host) const {
  ProcessOptions options;
  options.turn_time = options_.turn_time;
  options.datapath.nic = nics_[host].front();
  options.datapath.further_nics.assign(nics_[host].begin() + 1, nics_[host].end());
  options.datapath.max_paths = 256;
  options.datapath.receive_capacity = options_.receive_capacity;
  return options;
}

transport::EndpointOptions FlowRun::endpoint_options(uint32_t host) const {
  transport::EndpointOptions options;
  if (options_.discovers) options.discovery = transport::DiscoveryMode::kAuto;
  const BitsPerSec rate = rate_of_nics(network_, nics_[host]);
  options.accept = true;
  options.max_paths = std::max<uint16_t>(options_.paths, 1);
  options.default_paths = options_.paths;
  // With RoCE NICs, connections carry control messages of ranks only.
  if (!options_.roce) options.congestion = options_.congestion;
  options.selector = options_.selector;
  options.initial_window = options_.initial_window;
  if (options_.initial_window.count == 0) {
    options.initial_window = bytes_within(2 * round_trip_, rate);
  }
  options.window_limit = options_.window_limit;
  // A full window of single segments, because bursts on several paths are that short here.
  const uint64_t segments = options_.window_limit.count / (smallest_mtu_ - kIpUdpBytes);
  options.max_sent_runs = static_cast<uint32_t>(
      std::clamp<uint64_t>(segments, options.max_sent_runs, params::kMostSentRuns));
  options.longest_burst = options_.longest_burst;
  if (options_.longest_burst.count == 0) options.longest_burst = {1};
  if (options_.advertises_mtu) options.passed_datagram_bytes = smallest_mtu_ - kIpUdpBytes;
  if (options_.advertises_receive_rate) options.receive_rate = rate;
  return options;
}

void FlowRun::connect() {
  unopened_ = connections_.size();
  for (const Connection& each : connections_) {
    hosts_[each.from]->connect(each.to, *hosts_[each.to]);
  }
}

bool FlowRun::advance(Nanos until, uint64_t events) {
  for (uint64_t i = 0; i < events; ++i) {
    if (over()) return false;
    const Nanos end = opening_ || until == Nanos::never() ? Nanos::never() : zero_ + until;
    if (network_.next_event_at() > end) network_.run_until(end);
    if (!opening_ && network_.now() >= end) return false;
    if (!network_.step()) return false;
  }
  return true;
}

// Events continue without flows: peers keep connections alive.
bool FlowRun::over() const {
  const bool none_begins = !opening_ && order_.all_taken();
  if (ended_ != outcomes_.size() && !(none_begins && under_way_ == 0)) return false;
  return std::all_of(tenants_.begin(), tenants_.end(),
                     [](const Tenant* tenant) { return tenant->over(); });
}

FlowRun::Connection& FlowRun::connection(uint32_t from, uint32_t to) {
  return *std::lower_bound(connections_.begin(), connections_.end(), std::pair{from, to},
                           [](const Connection& a, const auto& b) {
                             return std::pair{a.from, a.to} < b;
                           });
}

void FlowRun::on_opened(uint32_t from, uint32_t to) {
  connection(from, to).handshake = world_.now() - zero_;
  --unopened_;
  begin_if_ready();
}

void FlowRun::begin_if_ready() {
  const bool ready = std::all_of(tenants_.begin(), tenants_.end(),
                                 [](const Tenant* tenant) { return tenant->ready(); });
  if (opening_ && unopened_ == 0 && ready) begin();
}

void FlowRun::on_refused(uint32_t from, uint32_t to, ErrorCode error) {
  on_lost(from, to, error);
  on_opened(from, to);
}

void FlowRun::on_lost(uint32_t from, uint32_t to, ErrorCode error) {
  connection(from, to).error = error;
}

// Time 0 leaves time for grants to arrive: the longest handshake takes at least one round trip.
void FlowRun::begin() {
  const Nanos longest = world_.now() - zero_;
  zero_ = world_.now() + longest;
  opening_ = false;
  for (size_t i = 0; i < flows_.size(); ++i) {
    outcomes_[i].handshake = connections_[flows_[i].connection].handshake;
  }
  schedule_next();
}

void FlowRun::run(Nanos now) {
  while (const topology::LinkChange* change = changes_.take_link_change(now - zero_)) {
    network_.apply(*change);
  }
  change_hosts();
  change_plan();
  if (!std::exchange(tenants_begun_, true)) {
    for (Tenant* tenant : tenants_) tenant->begin();
  }
  while (const std::optional<uint32_t> flow = order_.take_due(now - zero_)) start(*flow);
  schedule_next();
}

void FlowRun::change_hosts() {
  while (const topology::HostChange* change = changes_.take_host_change(world_.now() - zero_)) {
    for (uint32_t i = 0; i < world_.processes(); ++i) {
      Process& process = world_.process(i);
      if (network_.topology().nics[process.options().datapath.nic].host != change->host) continue;
      if (change->paused) {
        process.pause();
      } else {
        process.resume();
      }
    }
  }
}

// Ranks' endpoints follow by themselves: see SimDatapathOptions::plan_changes.
void FlowRun::change_plan() {
  const uint32_t before = replanned_;
  while (replanned_ < options_.replans.size() &&
         options_.replans[replanned_].at <= world_.now() - zero_) {
    ++replanned_;
  }
  if (replanned_ == before) return;
  for (const Connection& each : connections_) hosts_[each.from]->follow_plan(each.to);
}

void FlowRun::schedule_next() {
  Nanos next = std::min(changes_.next_at(), order_.next_at());
  if (replanned_ < options_.replans.size()) {
    next = std::min(next, options_.replans[replanned_].at);
  }
  if (!tenants_begun_ && !tenants_.empty()) next = std::min(next, Nanos{});
  if (next != Nanos::never()) network_.schedule(agent_, zero_ + next);
}

void FlowRun::start(uint32_t flow) {
  outcomes_[flow].started = now();
  if (!outcomes_[flow].failed) ++under_way_;
  const FlowState& state = flows_[flow];
  if (!hosts_[workload_.flows[flow].from]->start(flow, state.channel)) {
    fail(flow, connections_[state.connection].error);
  }
}

void FlowRun::on_received(uint32_t flow, bool ok, ErrorCode error) {
  if (!ok) return fail(flow, error);
  FlowOutcome& outcome = outcomes_[flow];
  outcome.received = now();
  const uint64_t bytes = workload_.flows[flow].bytes.count;
  const Content whole{flows_[flow].sent, 0, bytes};
  if (network_.virtual_memory().read_one({flows_[flow].received, 0, bytes}) != whole) ++wrong_;
  if (outcome.acked != Nanos::never()) end(flow);
  fire(workload_.flows[flow].when_received);
}

void FlowRun::on_sent(uint32_t flow, bool ok, ErrorCode error) {
  if (!ok) return fail(flow, error);
  FlowOutcome& outcome = outcomes_[flow];
  outcome.acked = now();
  if (outcome.received != Nanos::never()) end(flow);
  fire(workload_.flows[flow].when_sent);
}

void FlowRun::end(uint32_t flow) {
  ++ended_;
  if (outcomes_[flow].started != Nanos::never()) --under_way_;
}

// Both sides may report it. Delivered data counts, even if its sender never learns of it.
void FlowRun::fail(uint32_t flow, ErrorCode error) {
  FlowOutcome& outcome = outcomes_[flow];
  const bool over = outcome.received != Nanos::never() && outcome.acked != Nanos::never();
  if (outcome.failed || over) return;
  outcome.failed = true;
  outcome.error = error;
  end(flow);
}

void FlowRun::fire(uint32_t trigger) {
  if (trigger == topology::kNoTrigger || !order_.count_end(trigger)) return;
  while (const std::optional<uint32_t> flow = order_.take_waiting(trigger)) {
    start(*flow);
    if (order_.starts_one(trigger)) return;
  }
}

transport::ConnectionStatistics FlowRun::totals() const {
  transport::ConnectionStatistics sum;
  for (const std::unique_ptr<FlowHost>& host : hosts_) {
    if (host != nullptr) host->add_statistics(sum);
  }
  for (const Tenant* tenant : tenants_) tenant->add_statistics(sum);
  return sum;
}

RoceCounters FlowRun::roce_counters() const {
  RoceCounters sum;
  for (const std::unique_ptr<FlowHost>& host : hosts_) {
    if (host != nullptr) host->add_counters(sum);
  }
  return sum;
}

size_t FlowRun::transport_bytes_held(uint32_t host) const {
  return hosts_[host]->transport_bytes_held();
}

std::vector<PathShares> FlowRun::path_shares() const {
  std::vector<PathShares> shares;
  shares.reserve(connections_.size());
  for (const Connection& each : connections_) {
    shares.push_back({each.from, each.to, hosts_[each.from]->payload_by_path(each.to)});
  }
  return shares;
}

}  // namespace heddle::simulator
