// SwitchShape: how a switch keeps packets that wait, what it does with those that find no room, and
// when a lossless one (PFC, IEEE 802.1Qbb) has its neighbours pause.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace heddle::topology {

struct LinkShape;

struct SwitchShape {
  Bytes buffer;  // one memory for all ports; zero: each link has a queue of its own
  // A queue may hold alpha / alpha_divisor times what is free.
  uint32_t alpha = 1;
  uint32_t alpha_divisor = 1;
  Bytes reserve;  // of the memory, for each queue alone
  // A packet that finds no room is cut off behind its header, which overtakes what waits (Handley
  // et al., NDP, 2017); else it is dropped.
  bool trims = false;
  // Who sends to a port is paused when more than `xoff` of what came by it waits, until no more
  // than `xon` does. Zero: an equal share of the memory, and two full packets less.
  bool lossless = false;
  Bytes xoff;
  Bytes xon;
};

struct PauseLimits {
  Bytes xoff;
  Bytes xon;
  Bytes headroom;  // what may come beyond xoff
};

// Of a pause frame on the wire, with preamble and gap.
inline constexpr uint32_t kPauseFrameBytes = 84;

// On the wire: an IP packet that the link just passes, with Ethernet's framing.
uint32_t full_packet_bytes(const LinkShape& link);

// What still comes by a link after the packet that made its end ask for a pause, that packet
// included: the frame waits for a packet under way and perhaps another frame, travels, and the
// sender ends the packet that it has begun. Only for links with a rate.
Bytes pause_headroom(const LinkShape& link);

// Of a lossless switch with so many ports, at the end of that link.
PauseLimits pause_limits(const SwitchShape& shape, uint32_t ports, const LinkShape& link);

}  // namespace heddle::topology
