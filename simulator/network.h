// Network: the simulated fabric and its clock. It moves packets between NICs over links and
// switches, applies the topology's faults, and runs agents at the times that they requested. It is
// deterministic: trace_hash() is equal for two runs with equal seeds and equal calls. It sends and
// receives nothing itself: ports (see SimDatapath) inject packets and take them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "simulator/event_queue.h"
#include "simulator/fabric/agents.h"
#include "simulator/fabric/forwarding.h"
#include "simulator/fabric/link_faults.h"
#include "simulator/fabric/nic_ports.h"
#include "simulator/fates.h"
#include "simulator/link.h"
#include "simulator/outlets.h"
#include "simulator/packet.h"
#include "simulator/rate_history.h"
#include "simulator/routes.h"
#include "simulator/virtual_memory.h"
#include "topology/topology.h"
#include "transport/address.h"

namespace heddle::simulator {

struct NetworkOptions {
  Nanos start = seconds(1);              // initial value of the clock
  bool reports_errors = true;            // ICMP: refused, too large, time exceeded
  bool deliver_corrupt_headers = false;  // as if checksums missed them; payload is always protected
  // ICMP time exceeded: minimum interval between two from the same switch, and switches that send
  // none.
  Nanos time_exceeded_apart;
  std::vector<uint32_t> silent_switches;
  Bytes nic_queue = kibibytes(256);  // a NIC that holds more accepts no further burst
  Nanos loopback_delay = micros(2);  // from a NIC to itself
  // How long after a noticed failure of a link, or its return, all routes avoid or use it; never():
  // only the switches at its ends do.
  Nanos routes_converge_after = Nanos::never();
};

class Network {
 public:
  // CHECKs that the topology is valid.
  Network(const topology::Topology& topology, const NetworkOptions& options, uint64_t seed);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // --- time ---
  Nanos now() const { return now_; }
  Nanos next_event_at() const { return events_.next_at(); }
  // Handles the next event; false if there is none. Must not be called from within an event.
  bool step();
  // Handles all events up to and including `until`; then now() is `until`.
  void run_until(Nanos until);
  uint64_t events_handled() const { return events_handled_; }
  uint64_t trace_hash() const { return trace_hash_; }

  AgentId add_agent(Agent& agent) { return agents_.add(agent); }
  void remove_agent(AgentId agent) { agents_.remove(agent); }
  void schedule(AgentId agent, Nanos at);

  // --- calls of ports ---
  // `port` must be free on that NIC (CHECK). Returns the first of the 256 ports that it sends from.
  uint16_t attach(NicId nic, uint16_t port, Port& receiver) {
    return ports_.attach(nic, port, receiver);
  }
  void detach(NicId nic, uint16_t port) { ports_.detach(nic, port); }
  PacketStore& packets() { return packets_; }
  VirtualMemory& virtual_memory() { return virtual_memory_; }
  // False: the NIC is full; it will call the port's handle_room().
  bool may_send(NicId nic, Port& sender);
  // Sends the packet from packet.from_nic.
  void send(PacketId packet);
  // The shape of the link from a NIC.
  const topology::LinkShape& egress_shape(NicId nic) const { return links_[egress(nic)].shape(); }
  // The largest datagram for the MTU of the NIC's own link.
  uint32_t max_datagram_bytes(NicId nic) const;
  void count(Fate fate, uint64_t trace_detail);
  // A number that no earlier memory had, so that tokens of unregistered memory are never valid
  // again.
  uint32_t next_generation() { return ++generations_; }

  // --- faults ---
  void apply(const topology::LinkChange& change);
  // A host that is down neither sends nor receives nor replies.
  void set_nic_down(NicId nic, bool down) { ports_.set_down(nic, down); }
  // Sends these bytes as a datagram with any sender address, for hostile tests.
  void inject(const transport::Address& from, const transport::Address& to,
              std::span<const std::byte> datagram);

  // --- state and statistics ---
  const topology::Topology& topology() const { return topology_; }
  const NetworkOptions& options() const { return options_; }
  const FateCounts& fates() const { return fates_; }
  LinkCounters counters(LinkId link) const;
  // Its current shape.
  const topology::LinkShape& shape(LinkId link) const { return links_[link].shape(); }
  // The capacity of a link's direction between two times up to now, with its rate changes, in
  // billionths of a bit; includes times when it was down.
  Uint128 nanobits_possible(LinkId link, Nanos from, Nanos to) const {
    return rates_.nanobits(link, topology_.links[link / 2].shape.rate, from, to);
  }
  uint64_t carried_bytes(LinkId link) { return links_[link].carried_bytes(now_); }
  uint64_t take_queue_peak(LinkId link);
  const Routes& routes() const { return forwarding_.routes(); }
  uint32_t route_changes() const { return forwarding_.route_changes(); }
  uint64_t queued_bytes(LinkId link);
  // The limit of the link's queue: its own, or the memory that its switch's ports share.
  uint64_t room(LinkId link) const {
    const uint64_t shared = outlets_.shared_room(link);
    return shared > 0 ? shared : shape(link).queue.count;
  }
  // The maximum use of a switch's shared buffer.
  uint64_t buffer_used_max(uint32_t switch_index) const {
    return outlets_.memory_used_max(switch_index);
  }
  // Packets in flight, queued or lent to ports.
  uint32_t packets_alive() const { return packets_.lent(); }

 private:
  // Flags of a link in special_.
  static constexpr uint8_t kFaulty = 1;
  static constexpr uint8_t kOutlet = 2;

  void handle(const Event& event);
  void fetch_ahead() const;
  void handle_link(LinkId link);
  bool read_payload(PacketId packet);
  void look_for_room(NicId nic);
  void offer(LinkId link, PacketId packet);
  void offer_specially(LinkId link, PacketId packet, bool unbounded);
  void offer_faultless(LinkId link, PacketId packet, bool unbounded);
  void settle(LinkId link, PacketId packet, Link::Verdict verdict, transport::Ecn before);
  void handle_left(LinkId link);
  void end_on_link(LinkId link, PacketId packet);
  void draw_faults(LinkId link, PacketId packet);
  void reach(NodeId node, PacketId packet);
  void forward(uint32_t switch_index, PacketId packet);
  void expire(uint32_t switch_index, PacketId packet);
  void deliver(NicId nic, PacketId packet);
  void answer(NodeId node, const Packet& packet, PacketKind kind, uint32_t limit_bytes);
  void discard(PacketId packet, Fate fate);
  void trace(uint64_t what);
  void apply_one(const topology::LinkChange& change, LinkId link);
  void note_down(LinkId link, bool down);
  LinkId egress(NicId nic) const { return forwarding_.routes().egress(nic); }

  topology::Topology topology_;
  NetworkOptions options_;
  EventQueue events_;
  PacketStore packets_;
  VirtualMemory virtual_memory_;
  std::vector<Link> links_;
  RateHistory rates_;
  LinkFaultDraws faults_;
  std::vector<uint8_t> special_;
  Outlets outlets_;
  Forwarding forwarding_;
  std::vector<NodeId> link_ends_;
  NicPorts ports_;
  std::vector<Nanos> may_answer_at_;  // per switch: earliest time of its next ICMP time exceeded
  Agents agents_;
  std::vector<PacketId> cut_off_;  // scratch of apply_one()
  FateCounts fates_;
  Nanos now_;
  uint32_t generations_ = 0;
  bool handling_ = false;
  uint64_t events_handled_ = 0;
  uint64_t trace_hash_ = 0;
};

// Addresses of the simulated network: the NIC's index as an IPv6 address, and a port.
transport::Address address_of(NicId nic, uint16_t port);
// The address of a switch in ICMP messages, as Address::host.
std::array<uint8_t, 16> router_address(uint32_t switch_index);
// The NIC of an address; kNoIndex if it is not one of these.
NicId nic_of(const transport::Address& address);

}  // namespace heddle::simulator
