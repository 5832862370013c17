// Outlets: the links whose packets wait in a memory that the ports of a switch share, that a pause
// (PFC) may stop, or whose switch trims what finds no room. Packets wait here, and the link itself
// holds only the one that is being sent; an event at its end sends the next. Packets are accounted
// twice: to the queue that they wait in, and, in a lossless switch, to the link by which they came.
// Headers of trimmed packets wait apart and are sent first, as NDP's switches do (Handley et al.,
// 2017): up to kHeadersInARow of them between two packets.
//
// The network drives it; plain links cost nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "base/ring.h"
#include "simulator/event_queue.h"
#include "simulator/link.h"
#include "simulator/packet.h"
#include "simulator/routes.h"
#include "simulator/switch_memory.h"
#include "topology/topology.h"

namespace heddle::simulator {

class Outlets {
 public:
  static constexpr size_t kMostHeaders = 512;  // that wait at an outlet; more are dropped
  static constexpr uint32_t kHeadersInARow = 10;

  // All must outlive it; `links` are those of the topology, two a cable.
  Outlets(const topology::Topology& topology, std::vector<Link>& links, PacketStore& packets,
          EventQueue& events);

  bool has(LinkId link) const { return !outlets_.empty() && outlet_of_[link] != kNoIndex; }

  // As Link::offer().
  Link::Verdict offer(Nanos now, LinkId link, PacketId packet, bool unbounded, Random& random);
  // The event of kind kLeft of a link. True: a packet has left.
  bool handle_left(Nanos now, LinkId link);
  // A pause frame has come by `link`; it is the network's to give back.
  void handle_pause(Nanos now, LinkId link, const Packet& frame);
  // The link has gone down, and gave its packets back: those that waited are appended.
  void cut_off(Nanos now, LinkId link, std::vector<PacketId>& packets);

  uint64_t queued_bytes(LinkId link) const { return outlets_[outlet_of_[link]].bytes; }
  // Adds what is counted here.
  void add_counters(Nanos now, LinkId link, LinkCounters& counters) const;
  // The most that the queue held since it was asked last.
  uint64_t take_queue_peak(LinkId link);
  // What the queue may come to hold at most; zero: it has no memory with others.
  uint64_t shared_room(LinkId link) const;
  // Of the switch, zero where it has none of its own.
  uint64_t memory_used_max(uint32_t switch_index) const;

 private:
  struct Outlet {
    uint32_t memory = kNoIndex;  // of the switch that it leaves, where its ports share one
    bool may_trim = false;
    uint8_t headers_in_a_row = 0;
    topology::LinkShape shape;  // its marks, and its room where it has no memory
    Ring<PacketId> headers;     // of trimmed packets
    Ring<PacketId> frames;      // pause frames: ahead of all, and never paused
    Ring<PacketId> waiting;
    uint64_t bytes = 0;  // of packets that have not left completely; no frames, no headers
    // The packet that is being sent.
    Nanos leaves_at = Nanos::never();
    uint32_t leaving_bytes = 0;  // zero: a frame or a header
    LinkId leaving_came_by = kNoIndex;

    bool paused = false;
    Nanos paused_since;
    Nanos paused_time;  // earlier
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
    uint64_t bytes = 0;  // that came by it and are still here
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
  Random unused_{0};                 // links draw nothing: marks are made here
  std::vector<uint32_t> outlet_of_;  // a link; empty where there are none
  std::vector<uint32_t> inlet_of_;
  std::vector<Outlet> outlets_;
  std::vector<Inlet> inlets_;
  std::vector<SwitchMemory> memories_;
  std::vector<uint32_t> memory_of_;  // a switch
};

}  // namespace heddle::simulator
