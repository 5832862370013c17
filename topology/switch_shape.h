// SwitchShape: a switch's buffer, its treatment of packets that do not fit, and the limits at which
// a lossless switch (PFC, IEEE 802.1Qbb) pauses its neighbors.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace heddle::topology {

struct LinkShape;

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
