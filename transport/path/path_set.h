// PathSet: the paths that this side of a connection sends on, datagram paths first and then those
// of a payload strategy that has its own, with the round trip over all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/path/round_trip.h"
#include "transport/path/tx_path.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

// The paths of a payload strategy, numbered after the datagram paths.
struct StrategyPaths {
  uint16_t count = 0;         // 0: payload takes the datagram paths
  uint32_t packet_bytes = 0;  // of a full packet
  uint64_t most_ahead = 0;    // of a packet number, beyond the largest acknowledged one
};

class PathSet {
 public:
  void open(uint16_t datagram_paths, const StrategyPaths& strategy) {
    datagram_paths_ = datagram_paths;
    strategy_ = strategy;
    paths_ = std::vector<TxPath>(size_t{datagram_paths} + strategy.count);
  }
  void clear() { paths_.clear(); }

  TxPath& operator[](uint16_t id) { return paths_[id]; }
  const TxPath& operator[](uint16_t id) const { return paths_[id]; }
  uint16_t size() const { return static_cast<uint16_t>(paths_.size()); }
  bool all_active() const {
    return std::all_of(paths_.begin(), paths_.end(),
                       [](const TxPath& path) { return path.active(); });
  }
  auto begin() { return paths_.begin(); }
  auto end() { return paths_.end(); }
  auto begin() const { return paths_.begin(); }
  auto end() const { return paths_.end(); }

  uint16_t datagram_paths() const { return datagram_paths_; }
  uint16_t strategy_paths() const { return strategy_.count; }
  bool is_datagram_path(uint16_t id) const { return id < datagram_paths_; }
  // Whether payload takes paths of this kind: the strategy's where it has any.
  bool is_payload_kind(uint16_t id) const { return strategy_.count == 0 || !is_datagram_path(id); }
  // Whether the strategy could not name the next packet of the path: it sends low bits of numbers.
  bool too_far_ahead(uint16_t id) const {
    const SentList& sent = paths_[id].sent;
    return !is_datagram_path(id) &&
           sent.next_number() > sent.largest_acked() + strategy_.most_ahead;
  }

  // Bytes of a full packet on it, headers included, and of the payload in it.
  uint64_t packet_bytes(uint16_t id) const {
    return is_datagram_path(id) ? paths_[id].mtu.confirmed() : strategy_.packet_bytes;
  }
  uint32_t segment_bytes(uint16_t id) const {
    return static_cast<uint32_t>(packet_bytes(id)) - (is_datagram_path(id) ? kDataHeaderBytes : 0);
  }

  RoundTrip& round_trip() { return round_trip_; }
  const RoundTrip& round_trip() const { return round_trip_; }
  size_t bytes_held() const { return paths_.capacity() * sizeof(TxPath); }

 private:
  std::vector<TxPath> paths_;
  RoundTrip round_trip_;
  uint16_t datagram_paths_ = 0;
  StrategyPaths strategy_;
};

}  // namespace heddle::transport
