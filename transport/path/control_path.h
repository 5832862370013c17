// ControlPath: the path of the next control packet. Active datagram paths take turns, and where
// none is active all do, since any may work again; before the peer was heard, the path of the
// latest answer to its handshake is kept, because packets on another path could arrive before that
// answer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/path/path_set.h"

namespace heddle::transport {

class ControlPath {
 public:
  void open(bool peer_heard) { peer_heard_ = peer_heard; }
  void peer_was_heard() { peer_heard_ = true; }
  bool is_fixed() const { return !peer_heard_; }
  uint16_t current() const { return current_; }

  uint16_t take(const PathSet& paths) { return peer_heard_ ? next(paths) : current_; }
  uint16_t next(const PathSet& paths) {
    const uint16_t count = paths.datagram_paths();
    const auto advance = [this, count] {
      current_ = static_cast<uint16_t>((current_ + 1u) % count);
    };
    advance();
    // Where none is active it ends where it began.
    for (uint16_t tried = 0; tried < count && !paths[current_].active(); ++tried) advance();
    return current_;
  }

  // Whether a packet sent on this path now is likely to arrive, or no path is better.
  static bool trusts(const PathSet& paths, uint16_t id) {
    if (id >= paths.size() || paths[id].active()) return true;
    return std::none_of(paths.begin(), paths.begin() + paths.datagram_paths(),
                        [](const TxPath& path) { return path.active(); });
  }

 private:
  uint16_t current_ = 0;
  bool peer_heard_ = false;  // a packet of the connection arrived
};

}  // namespace heddle::transport
