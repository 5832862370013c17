// SwitchShape: a switch's buffer, its treatment of packets that do not fit, the limits at which a
// lossless switch (PFC, IEEE 802.1Qbb) pauses its neighbors, and how it chooses among shortest
// routes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::topology {

struct LinkShape;

// How a switch chooses among the equal-cost links of a packet.
enum class Balancing : uint8_t {
  kEcmp,     // by a hash of addresses and ports
  kFlowlet,  // at random, again after a gap in the packets with equal hash (LetFlow, Vanini et al.,
             // NSDI 2017)
  kSpray,    // each packet at random (Dixit et al., INFOCOM 2013)
  kAdaptive,  // each packet by the shortest queue (as DRILL with all queues, Ghorbani et al.,
              // SIGCOMM 2017)
};
// "ecmp", "flowlet", "spray", "adaptive", as the files spell them.
inline constexpr std::array<std::string_view, 4> kBalancingNames = {"ecmp", "flowlet", "spray",
                                                                    "adaptive"};
constexpr std::string_view name_of(Balancing balancing) {
  return kBalancingNames[static_cast<size_t>(balancing)];
}
std::optional<Balancing> balancing_named(std::string_view name);

struct SwitchShape {
  Bytes buffer;  // one memory for all ports; zero: each link has its own queue
  // A queue may hold alpha / alpha_divisor times the free memory.
  uint32_t alpha = 1;
  uint32_t alpha_divisor = 1;
  Bytes reserve;  // part of the memory reserved for each queue
  // A packet that does not fit is cut to its header, which overtakes the waiting packets (Handley
  // et al., NDP, 2017); if false, it is dropped.
  bool trims = false;
  // The sender to a port is paused while more than `xoff` bytes received on that port are waiting,
  // until at most `xon` are. Zero: an equal share of the memory for xoff, and two full packets less
  // for xon.
  bool lossless = false;
  Bytes xoff;
  Bytes xon;
  Balancing balancing = Balancing::kEcmp;
  // kFlowlet: packets with equal hash that arrive further apart may take another link. LetFlow
  // evaluates 50 to 500 us; it exceeds the difference of delays between the links.
  Nanos flowlet_gap = micros(100);
};

struct PauseLimits {
  Bytes xoff;
  Bytes xon;
  Bytes headroom;  // data that may arrive after xoff is exceeded
};

// Size of a pause frame on the wire, with preamble and gap.
inline constexpr uint32_t kPauseFrameBytes = 84;

// Size on the wire of the largest IP packet that the link passes, with Ethernet's framing.
uint32_t full_packet_bytes(const LinkShape& link);

// Data that can still arrive on a link from the packet that triggers a pause, that packet included:
// the pause frame waits for the packet in transmission and possibly for another frame, travels, and
// the sender finishes the packet that it has begun. Only for links with a rate.
Bytes pause_headroom(const LinkShape& link);

// The limits of a lossless switch with `ports` ports, at its end of that link.
PauseLimits pause_limits(const SwitchShape& shape, uint32_t ports, const LinkShape& link);

}  // namespace heddle::topology
