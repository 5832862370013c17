// ProbeQueue: the paths on which a probe is due, that is, a small packet that asks for an
// acknowledgement. Served in turn.
#pragma once

#include <cstdint>

#include "transport/path/path_set.h"

namespace heddle::transport {

class ProbeQueue {
 public:
  void push(PathSet& paths, uint16_t id) {
    PathHealth& health = paths[id].health;
    size_ += health.probe_wanted_ ? 0 : 1;
    health.probe_wanted_ = true;
  }
  static bool contains(const PathSet& paths, uint16_t id) { return paths[id].health.probe_wanted_; }
  bool empty() const { return size_ == 0; }

  // False: no probe is due.
  bool pop(PathSet& paths, uint16_t& id) {
    if (size_ == 0) return false;
    while (!paths[next_ % paths.size()].health.probe_wanted_) ++next_;
    id = static_cast<uint16_t>(next_ % paths.size());
    next_ = static_cast<uint16_t>(id + 1u);
    paths[id].health.probe_wanted_ = false;
    --size_;
    return true;
  }
  void clear() { size_ = 0; }

 private:
  uint16_t size_ = 0;
  uint16_t next_ = 0;
};

}  // namespace heddle::transport
