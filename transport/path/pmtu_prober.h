// Datagram path MTU discovery (DPLPMTUD, RFC 8899): PathMtu is the search on one path, PmtuProber
// starts probes on all paths of a connection and bounds how many are in flight. Driven by the send
// controller, which sends the probes and reports whether they were acknowledged or lost.
#pragma once

#include <cstdint>
#include <optional>

#include "events/events.h"
#include "transport/wire/numbers.h"

namespace heddle::transport {

class PathSet;

// The search on one path: 9 bytes, the byte behind them is free for the next member.
//   base             confirmed() is the base size
//   searching        probed() is the size that is tried next, or is being tried
//   search complete  probed() is zero
class PathMtu {
 public:
  uint32_t confirmed() const { return confirmed_; }  // bytes of UDP payload
  uint32_t probed() const { return probed_; }        // bytes of UDP payload; 0: search complete
  bool probe_in_flight() const { return probe_in_flight_; }

 private:
  friend class PmtuProber;

  PacketNumberLow large_lost_below_;  // packets below it left before the last counted black-hole
                                      // round ended
  uint16_t confirmed_ = 0;
  uint16_t probed_ = 0;
  uint8_t probes_lost_ : 2 = 0;        // of this size
  uint8_t black_hole_rounds_ : 2 = 0;  // round trips in which all large datagrams were lost
  uint8_t probe_in_flight_ : 1 = false;
};

// A change of what a path is known to pass.
struct SizeChange {
  uint32_t confirmed = 0;  // bytes of UDP payload
  uint32_t refused = 0;    // the size that did not pass; 0: none, the size has grown
};

class PmtuProber {
 public:
  // `largest`: bytes of UDP payload that both ends could take.
  void open(uint32_t largest);
  // Starts a path at `confirmed` bytes and searches up to the largest size, if `searches`.
  void open_path(PathMtu& path, uint32_t confirmed, bool searches);

  // Whether poll() may find a path to probe.
  bool searching() const { return searching_paths_ > 0; }
  // The next datagram path to probe, and with how many bytes; false: none now. `capacity`: bytes
  // that the peer's socket holds.
  bool poll(const PathSet& paths, uint64_t capacity, uint16_t& id, uint32_t& bytes);

  void on_probe_sent(PathMtu& path) {
    path.probe_in_flight_ = true;
    ++probes_in_flight_;
  }
  std::optional<SizeChange> on_probe_acked(PathMtu& path);
  std::optional<SizeChange> on_probe_lost(PathMtu& path, events::LossCause cause);
  // Payload in datagrams above the base size arrived, or was lost to a gap. `number` is the lost
  // packet's, `next_number` the next to be sent on its path.
  static void on_large_acked(PathMtu& path) { path.black_hole_rounds_ = 0; }
  std::optional<SizeChange> on_large_lost(PathMtu& path, uint64_t number, uint64_t next_number);
  // The network reports (ICMP) that datagrams above `bytes` of UDP payload do not pass.
  std::optional<SizeChange> on_too_large(PathMtu& path, uint32_t bytes);
  // Goes back to the base size and searches again: the path may have changed.
  void restart(PathMtu& path);

  uint32_t largest() const { return largest_; }
  uint32_t smallest_refused() const { return smallest_refused_; }  // bytes; 0: every size passed

 private:
  void note_refused(uint32_t bytes);

  uint32_t largest_ = 0;
  uint32_t smallest_refused_ = 0;
  uint32_t probes_in_flight_ = 0;
  uint32_t searching_paths_ = 0;
  uint16_t next_ = 0;  // where poll() goes on
};

}  // namespace heddle::transport
