// Reduction: decides when a congestion controller may reduce its window and by how much: once per
// round trip; by the path's share where only that path is congested; to the smallest window when
// timeouts persist. It undoes a reduction whose losses were spurious. All controllers share these
// rules; what they make of an acknowledgement differs.
#pragma once

#include <cstdint>
#include <limits>

#include "base/nanos.h"
#include "transport/congestion/controller.h"

namespace heddle::transport {

// Fractions of a window, in millionths.
inline constexpr uint32_t kWhole = 1'000'000;

// A sign of congestion: when the segment that met it was sent, and how alone its path is with it.
struct CongestionSign {
  Nanos sent_at;
  uint32_t active_paths = 1;
  bool others_clean = false;

  static CongestionSign of(const AckSample& s) {
    return {s.sent_at, s.active_paths, s.others_clean};
  }
  static CongestionSign of(const LossSample& s) {
    return {s.sent_at, s.active_paths, s.others_clean};
  }
  // The path stands alone: its trouble is the selector's matter first.
  bool alone() const { return others_clean && active_paths > 1; }
};

class Reduction {
 public:
  enum class Kind : uint8_t {
    kNone,    // already answered in this round trip
    kFirst,   // the first of its round trip
    kDeeper,  // this round trip's was by a path's share; now that others suffer too, it becomes
              // whole
  };
  struct Answer {
    Kind kind = Kind::kNone;
    bool shared = false;  // scaled down to the path's share
    uint64_t window = 0;  // the new one, before any bound; for kNone the old one
  };

  // Answers a sign met at window `window`, of which `keep` millionths remain (all but the path's
  // share of the rest where it stands alone). `undoable`: a spurious loss may take it back.
  Answer answer(Nanos now, const CongestionSign& sign, uint64_t window, uint32_t keep,
                bool undoable);

  // A segment sent then was sent before the latest reduction: its acknowledgement grows nothing.
  bool precedes_latest(Nanos sent_at) const { return sent_at <= began_; }

  // To be called for every acknowledgement: ends a sequence of timeouts.
  void on_ack(Nanos sent_at) {
    if (sent_at > began_) timeouts_ = 0;
  }
  // To be called for every loss before answer(): true for the second timeout in a row without an
  // acknowledgement of anything sent after the first (compare RFC 9002 section 7.6, persistent
  // congestion). Then the window belongs at its floor, and answer() is not to be called.
  bool timeout_persists(Nanos now, const LossSample& loss);

  // True once after an undoable reduction: its controller may restore what it had before.
  bool take_undo();

 private:
  Nanos began_{std::numeric_limits<int64_t>::min()};  // the latest reduction
  uint64_t before_ = 0;                               // the window then
  uint32_t timeouts_ = 0;
  bool deepens_ = false;  // it was shared and has not been deepened
  bool undoable_ = false;
};

}  // namespace heddle::transport
