// PathRestriction: the paths that payload is fixed to, by a plan or by what discovery found. The
// others are still probed and acknowledge; while no chosen path works, payload falls back to them.
#pragma once

#include <algorithm>
#include <span>

#include "transport/path/path_set.h"

namespace heddle::transport {

class PathRestriction {
 public:
  // Fixes payload to `chosen`; none: to no path in particular. False: one of them carries no
  // payload, and nothing has changed.
  bool set(PathSet& paths, std::span<const uint16_t> chosen) {
    const bool known = std::all_of(chosen.begin(), chosen.end(), [&paths](uint16_t id) {
      return id < paths.size() && paths.is_payload_kind(id);
    });
    if (!known) return false;
    restricted_ = !chosen.empty();
    fallback_ = false;
    for (TxPath& path : paths) path.share.set_excluded(restricted_);
    for (const uint16_t id : chosen) paths[id].share.set_excluded(false);
    return true;
  }

  // After a path's state has changed. True: the fallback began or ended.
  bool update(const PathSet& paths) {
    bool works = !restricted_;
    for (uint16_t id = 0; id < paths.size() && !works; ++id) {
      works = paths.is_payload_kind(id) && !paths[id].share.excluded() && paths[id].active();
    }
    if (works != fallback_) return false;
    fallback_ = !works;
    return true;
  }

  // Whether payload may take this path while it is active.
  bool allows(const PathSet& paths, uint16_t id) const {
    return paths.is_payload_kind(id) && (!paths[id].share.excluded() || fallback_);
  }
  bool restricted() const { return restricted_; }
  bool fallback() const { return fallback_; }

 private:
  bool restricted_ = false;
  bool fallback_ = false;
};

}  // namespace heddle::transport
