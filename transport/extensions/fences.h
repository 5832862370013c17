// Fences: the receiving side's state of remote writes: the newest number and the epoch of each
// chunk path, which show whether a write that was declared lost may still land. See
// transport/placed.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/ring.h"
#include "transport/placed.h"
#include "transport/wire/immediate.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

class Fences {
 public:
  void open(uint16_t paths) { paths_.resize(paths); }
  uint16_t paths() const { return static_cast<uint16_t>(paths_.size()); }

  // A chunk arrived whose immediate has these low bits; gives its number.
  uint64_t arrived(uint16_t path, uint32_t number_low) {
    uint64_t& largest = paths_[path].largest;
    return largest = number_after(largest, number_low);
  }

  // Whether this write cannot land any more (or has).
  bool fenced(const OriginalWrite& write) const {
    if (write.path >= paths_.size()) return true;
    const Path& path = paths_[write.path];
    if (write.epoch == path.epoch) return path.largest >= write.number;
    // Half the circle away: no write of this peer has that epoch, so there is nothing to wait for.
    return write.epoch.steps_to(path.epoch).value_or(1) > 0;
  }

  // Asks for a new epoch of this path, unless one is requested already.
  void request(uint16_t path) {
    Path& asked = paths_[path];
    if (asked.requested) return;
    asked.requested = true;
    requests_.push_back({0, path, (asked.epoch + 1).value()});
  }

  // Asks for a new epoch of every path. Once fenced_since() the round that it gives, no write that
  // began before can land any more.
  uint64_t request_every() {
    for (uint16_t path = 0; path < paths(); ++path) request(path);
    return ++round_;
  }
  bool fenced_since(uint64_t round) const {
    return std::all_of(paths_.begin(), paths_.end(),
                       [round](const Path& path) { return path.round >= round; });
  }

  // The datapath made it so; gives false for an answer to no question.
  bool on_fenced(uint16_t path, uint32_t epoch) {
    if (path >= paths_.size() || !paths_[path].requested) return false;
    paths_[path].requested = false;
    paths_[path].epoch = PathEpoch(static_cast<uint16_t>(epoch));
    paths_[path].round = round_;
    return true;
  }

  PathEpoch epoch(uint16_t path) const { return paths_[path].epoch; }

  // The next request for the datapath, without its connection; false: none.
  bool poll(FenceRequest& request) {
    if (requests_.empty()) return false;
    request = requests_.pop_front();
    return true;
  }

 private:
  struct Path {
    uint64_t largest = 0;
    uint64_t round = 0;  // the newest one when it was last fenced
    PathEpoch epoch;
    bool requested = false;
  };

  std::vector<Path> paths_;
  uint64_t round_ = 0;  // of request_every()
  Ring<FenceRequest> requests_;
};

}  // namespace heddle::transport
