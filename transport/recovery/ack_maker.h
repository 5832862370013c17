// AckMaker: the receiving half of recovery: what arrived on each path of the peer, when an
// acknowledgement is due, and what it says. Acknowledgements are coalesced over what arrives
// together, repeat the newest ranges of a path, and take along a path that had nothing new, so that
// losing one hides nothing for long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "transport/recovery/rx_path.h"
#include "transport/rx_run.h"
#include "transport/wire/control.h"
#include "transport/wire/packet.h"

namespace heddle::transport {

class AckMaker {
 public:
  // How long an acknowledgement may wait for company. Part of what a sender's probe timeout allows
  // for.
  static constexpr Nanos kDelay = micros(25);
  // At most so long where more of the same message comes anyway: see delay_within().
  static constexpr Nanos kDelayWithinMost = micros(500);
  static constexpr Nanos kControlDelay = millis(1);
  // After a gap, acknowledgements are as prompt and tell as much as they can for so long: where
  // packets are lost, acknowledgements are too, and needless repeats cost more than they do.
  static constexpr Nanos kPromptAfterGap = millis(2);
  // With so many bytes of so many arrivals untold it waits no longer: a row of segments that came
  // at once is one, or each would be told alone.
  static constexpr uint64_t kBytes = 32 * 1024;
  static constexpr uint32_t kArrivals = 4;
  // The end of a message is waited for, but not so much that each of many small ones is told alone.
  static constexpr uint32_t kEndIsToldAbove = 8 * 1024;
  // Nor with so many packets whose senders do not wait for it: each may hold one of the few
  // messages that go ahead of their grants.
  static constexpr uint32_t kMostLater = 4;

  explicit AckMaker(OlderPool& pool) : pool_(pool) {}
  ~AckMaker() { forget_gaps(); }
  AckMaker(const AckMaker&) = delete;
  AckMaker& operator=(const AckMaker&) = delete;

  // The peer may use so many paths; state is kept for those that it does use. Acknowledgements name
  // path i as `first_name` + i.
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
    bool completes = false;       // a message whose sender waits to hear it
    Nanos round_trip;             // smoothed; zero: never measured
  };
  void note(Nanos now, const ConnectionHeader& header, const Arrival& arrival);
  // Something came twice: the peer has probably missed an acknowledgement of this path.
  void note_duplicate(Nanos now, uint16_t path);

  bool pending() const { return first_pending_ != kNoPath; }
  bool due(Nanos now) const { return due_at_ <= now; }
  Nanos due_at() const { return due_at_; }

  // Writes acknowledgements until the space or the paths with news end; false: nothing was written.
  bool write(Nanos now, uint64_t window_bytes, Writer& writer);

  // Nothing was noted since `horizon`: what is missing by now will not be waited for. Gives back
  // what gaps take.
  void forget_old_gaps(Nanos horizon) {
    if (noted_at_ < horizon) forget_gaps();
  }

  // An eighth of a round trip, so that what is told late is told early enough for whoever sends by
  // it. On a slow link packets come far apart; each acknowledged alone would take a seventh of the
  // way back. A sender whose window ends asks.
  static Nanos delay_within(Nanos round_trip) {
    return std::clamp(round_trip / 8, kDelay, kDelayWithinMost);
  }

  // The same where the sender's window holds the rest of the message, whose end asks: only what is
  // lost is told of by this.
  static Nanos delay_before_rest(Nanos round_trip) {
    return std::clamp(round_trip / 2, 4 * kDelay, kDelayWithinMost);
  }

  size_t bytes_held() const { return paths_.capacity() * sizeof(RxPath); }

 private:
  static constexpr uint16_t kNoPath = UINT16_MAX;

  static Nanos delay_of(const Arrival& arrival, bool later, bool prompt);
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
  Nanos repeat_at_;                 // when paths without news are told of again
  Nanos asked_sent_at_{INT64_MIN};  // the newest packet that asked left then, by its sender's clock
  // These may wrap: once an acknowledgement is due it stays so until they begin anew.
  uint32_t untold_bytes_ = 0;
  uint16_t untold_ = 0;  // arrivals with payload
  uint16_t later_ = 0;   // packets untold whose senders do not wait
  uint16_t rotation_ = 0;
  uint16_t first_name_ = 0;
  uint16_t limit_ = 0;
};

}  // namespace heddle::transport
