// AckManager: the acknowledgements that this side sends: what arrived on each path of the peer,
// when an acknowledgement is due by AckRules, and what it says. They are coalesced over what
// arrives together, repeat the newest ranges of a path, and include paths that had nothing new, so
// that losing one hides nothing for long. Those that this side receives go to SendController.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "transport/recovery/ack_rules.h"
#include "transport/recovery/params.h"
#include "transport/recovery/rx_path.h"
#include "transport/rx_run.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

class AckManager {
 public:
  static constexpr Nanos kGapsKeptFor = params::acknowledgements::kGapsKeptFor;

  explicit AckManager(OlderPool& pool) : pool_(pool) {}
  ~AckManager() { forget_gaps(); }
  AckManager(const AckManager&) = delete;
  AckManager& operator=(const AckManager&) = delete;

  // The peer may use `paths` paths; state is kept only for those in use. Acknowledgements name path
  // i as `first_name` + i.
  void open(uint16_t paths, uint16_t first_name = 0) {
    limit_ = paths;
    first_name_ = first_name;
  }
  uint16_t paths() const { return limit_; }

  Novelty judge(uint16_t path, uint64_t low, uint64_t high) const {
    return path < paths_.size() ? paths_[path].numbers.judge(pool_, low, high) : Novelty::kNew;
  }

  // Whether this number is further ahead of all that arrived than a sender can be: see
  // ReceivedNumbers.
  bool too_far(uint16_t path, uint64_t high) const {
    const uint64_t largest = path < paths_.size() ? paths_[path].numbers.largest() : 0;
    return high > largest + ReceivedNumbers::kMostAhead;
  }

  // Packets [low, high] of `header.path` arrived and count.
  struct Arrival {
    uint64_t low = 0;
    uint64_t high = 0;
    Ecn ecn = Ecn::kNotCapable;
    uint64_t bytes = 0;           // of payload; 0: a control packet
    bool within_message = false;  // not its last
    bool completes = false;       // a large message: its last missing bytes
    Nanos round_trip;             // smoothed; zero: never measured
  };
  void note(Nanos now, const ConnectionHeader& header, const Arrival& arrival);
  // A packet arrived twice: the peer has probably missed an acknowledgement of this path.
  void note_duplicate(Nanos now, uint16_t path);

  bool pending() const { return first_pending_ != kNoPath; }
  bool due(Nanos now) const { return due_at_ <= now; }
  Nanos due_at() const { return due_at_; }
  // When a grant leaves at the latest; see AckRules::grant_at().
  Nanos grant_at(Nanos now, const AckRules::Grant& grant) const {
    return AckRules::grant_at(now, grant, pending() ? due_at_ : Nanos::never());
  }

  // Writes acknowledgements until the space or the pending paths end; false: nothing was written.
  bool write(Nanos now, uint64_t window_bytes, Writer& writer);

  // Gives back what gaps take if nothing was noted since `horizon`: missing packets are not awaited
  // any more.
  void forget_old_gaps(Nanos horizon) {
    if (noted_at_ < horizon) forget_gaps();
  }

  size_t bytes_held() const { return paths_.capacity() * sizeof(RxPath); }

 private:
  static constexpr uint16_t kNoPath = UINT16_MAX;

  uint32_t facts_of(Nanos now, const ConnectionHeader& header, const Arrival& arrival,
                    bool in_order);
  void forget_gaps();
  void mark_pending(Nanos now, uint16_t path);
  void write_path(uint16_t path, Writer& writer);

  OlderPool& pool_;
  std::vector<RxPath> paths_;  // up to the highest that was used
  uint16_t first_pending_ = kNoPath;
  uint16_t last_pending_ = kNoPath;
  Nanos noted_at_;
  Nanos due_at_ = Nanos::never();
  Nanos prompt_until_;
  Nanos repeat_at_;                     // when paths with nothing new are acknowledged again
  Nanos requested_sent_at_{INT64_MIN};  // send time of the newest packet that requested one
  // Since the latest acknowledgement. These may wrap: once one is due it stays so until they begin
  // anew.
  uint32_t waiting_bytes_ = 0;
  uint16_t waiting_ = 0;   // arrivals with payload
  uint16_t deferred_ = 0;  // packets whose sender does not wait
  uint16_t rotation_ = 0;
  uint16_t first_name_ = 0;
  uint16_t limit_ = 0;
};

}  // namespace heddle::transport
