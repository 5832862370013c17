// PathSet: the paths that this side of a connection sends on, datagram paths first and then those
// of remote writes (chunk paths), with the round trip over all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/path/round_trip.h"
#include "transport/path/tx_path.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

class PathSet {
 public:
  void open(uint16_t datagram_paths, uint16_t chunk_paths, uint32_t chunk_bytes) {
    datagram_paths_ = datagram_paths;
    chunk_paths_ = chunk_paths;
    chunk_bytes_ = chunk_bytes;
    paths_ = std::vector<TxPath>(size_t{datagram_paths} + chunk_paths);
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

  uint16_t first_chunk_path() const { return datagram_paths_; }
  uint16_t chunk_paths() const { return chunk_paths_; }
  bool is_chunk_path(uint16_t id) const { return id >= datagram_paths_; }
  // Whether payload takes paths of this kind: chunk paths where there are any.
  bool is_payload_kind(uint16_t id) const { return chunk_paths_ == 0 || is_chunk_path(id); }

  // Bytes of a full packet on it, headers included, and of the payload in it.
  uint64_t packet_bytes(uint16_t id) const {
    return is_chunk_path(id) ? chunk_bytes_ : paths_[id].mtu.confirmed();
  }
  uint32_t segment_bytes(uint16_t id) const {
    return static_cast<uint32_t>(packet_bytes(id)) - (is_chunk_path(id) ? 0 : kDataHeaderBytes);
  }

  RoundTrip& round_trip() { return round_trip_; }
  const RoundTrip& round_trip() const { return round_trip_; }
  size_t bytes_held() const { return paths_.capacity() * sizeof(TxPath); }

 private:
  std::vector<TxPath> paths_;
  RoundTrip round_trip_;
  uint16_t datagram_paths_ = 0;
  uint16_t chunk_paths_ = 0;
  uint32_t chunk_bytes_ = 0;
};

}  // namespace heddle::transport
