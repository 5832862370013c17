// Outlets: links whose packets wait in a memory that the ports of a switch share, that a pause
// (PFC) may stop, or whose switch trims packets that find no room. Packets wait here; the link
// itself holds only the one in transmission, and an event at its end sends the next. The network
// drives it; links without these features cost nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "base/ring.h"
#include "simulator/event_queue.h"
#include "simulator/link.h"
#include "simulator/packet.h"
#include "simulator/params.h"
#include "simulator/routes.h"
#include "simulator/switch_memory.h"
#include "topology/topology.h"

namespace heddle::simulator {

// Packets are counted twice: in their queue and, in a lossless switch, for the link on which they
// arrived. Headers of trimmed packets wait in a separate queue with priority, as in NDP's switches
// (Handley et al., 2017): up to kHeadersInARow between two packets.
class Outlets {
 public:
  static constexpr size_t kMostHeaders = params::kMostHeaders;
  static constexpr uint32_t kHeadersInARow = params::kHeadersInARow;

  // All must outlive it; `links` are the topology's, two per cable.
  Outlets(const topology::Topology& topology, std::vector<Link>& links, PacketStore& packets,
          EventQueue& events);

  bool has(LinkId link) const { return !outlets_.empty() && outlet_of_[link] != kNoIndex; }

  // As Link::offer().
  Link::Verdict offer(Nanos now, LinkId link, PacketId packet, bool unbounded, Random& random);
  // Handles the link's kLeft event. True: a packet has left.
  bool handle_left(Nanos now, LinkId link);
  // A pause frame has arrived on `link`; the network returns it to the store.
  void handle_pause(Nanos now, LinkId link, const Packet& frame);
  // The link has gone down and returned its packets: appends those that waited here.
  void cut_off(Nanos now, LinkId link, std::vector<PacketId>& packets);

  uint64_t queued_bytes(LinkId link) const { return outlets_[outlet_of_[link]].bytes; }
  // Adds the counts of this outlet.
  void add_counters(Nanos now, LinkId link, LinkCounters& counters) const;
  // The maximum queue length since the last call.
  uint64_t take_queue_peak(LinkId link);
  // The limit of the queue in shared memory; zero: it shares none.
  uint64_t shared_room(LinkId link) const;
  // For the switch; zero if it has no shared memory.
  uint64_t memory_used_max(uint32_t switch_index) const;

 private:
  struct Outlet {
    uint32_t memory = kNoIndex;  // shared memory of its switch; kNoIndex: none
    bool may_trim = false;
    uint8_t headers_in_a_row = 0;
    topology::LinkShape shape;  // its marking, and its queue limit without shared memory
    Ring<PacketId> headers;     // of trimmed packets
    Ring<PacketId> frames;      // pause frames: first priority, never paused
    Ring<PacketId> waiting;
    uint64_t bytes = 0;  // of packets that have not left completely, without frames and headers
    // The packet in transmission.
    Nanos leaves_at = Nanos::never();
    uint32_t leaving_bytes = 0;  // zero: a frame or a header
    LinkId leaving_came_by = kNoIndex;

    bool paused = false;
    Nanos paused_since;
    Nanos paused_time;  // before the current pause
    uint64_t pauses = 0;
    uint64_t drops = 0;
    uint64_t trims = 0;
    uint64_t marks = 0;
    uint64_t queued_max = 0;  // since take_queue_peak()
    uint64_t queued_earlier_max = 0;
  };
  // A link into a lossless switch.
  struct Inlet {
    topology::PauseLimits limits;
    uint64_t bytes = 0;  // that arrived on it and are still in the switch
    bool pausing = false;
  };

  void add_outlet(LinkId link, uint32_t memory);
  bool takes(const Outlet& outlet, uint32_t bytes, bool unbounded) const;
  Link::Verdict offer_header(Nanos now, LinkId link, PacketId packet);
  PacketId next_to_send(Outlet& outlet);
  void mark(Outlet& outlet, Packet& packet, Random& random);
  void send_next(Nanos now, LinkId link);
  void came(Nanos now, LinkId by, uint32_t bytes);
  void left(Nanos now, Outlet& outlet, uint32_t bytes, LinkId came_by);
  void send_frame(Nanos now, LinkId inlet, bool pause);

  std::vector<Link>& links_;
  PacketStore& packets_;
  EventQueue& events_;
  Random unused_{0};                 // links draw nothing here: outlets set the marks
  std::vector<uint32_t> outlet_of_;  // per link; empty where there are no outlets
  std::vector<uint32_t> inlet_of_;
  std::vector<Outlet> outlets_;
  std::vector<Inlet> inlets_;
  std::vector<SwitchMemory> memories_;
  std::vector<uint32_t> memory_of_;  // per switch
};

}  // namespace heddle::simulator
