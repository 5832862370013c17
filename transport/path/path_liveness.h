// PathLiveness: the one place that decides whether a path is alive. It keeps the evidence of all
// paths together (what was acknowledged last, what asked last), says when to look again, and
// judge() turns evidence into an event of the state machine (path_state.h). The send controller
// carries out what the machine asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/nanos.h"
#include "transport/params.h"
#include "transport/path/path_set.h"
#include "transport/path/path_state.h"
#include "transport/recovery/wake_time.h"

namespace heddle::transport {

// When a path is judged.
enum class PathCheck : uint8_t {
  kAfterAcks,  // acknowledgements of one packet were processed
  kTailLoss,   // the tail-loss delay of some path passed
  kPto,        // the path's probe timer expired
};

struct PathJudgement {
  PathEvent event = PathEvent::kNone;
  Nanos again = Nanos::never();  // of a tail-loss check: when to judge again
};

class PathLiveness {
 public:
  explicit PathLiveness(const PathSet& paths) : paths_(paths) {}
  void close() { first_unanswered_ = Nanos::never(); }

  // The event that the evidence shows, or kNone. `pool`: of the records of sent packets.
  PathJudgement judge(const SentPool& pool, Nanos now, uint16_t id, PathCheck check) const;

  // --- evidence ---
  // A packet left that asks for an acknowledgement.
  void on_ack_requested(Nanos now, uint16_t id, WakeTime& wake);
  // A packet of the path that left at `sent_at` was acknowledged, the newest of its frame.
  void on_acked(uint16_t id, Nanos sent_at) {
    if (sent_at <= newest_acked_sent_at_) return;
    newest_acked_sent_at_ = sent_at;
    newest_acked_path_ = id;
  }
  // A packet left that the peer must answer: the peer counts as silent from here on.
  void on_probe_sent(Nanos now) { first_unanswered_ = std::min(first_unanswered_, now); }
  void on_peer_heard() { first_unanswered_ = Nanos::never(); }
  // When the oldest unanswered probe left; never(): all were answered.
  Nanos first_unanswered() const { return first_unanswered_; }

  // --- when to judge ---
  // At most once in kSilenceCheckEvery.
  bool take_silence_check(Nanos now) {
    if (now < silence_check_at_) return false;
    silence_check_at_ = now + params::kSilenceCheckEvery;
    return true;
  }
  Nanos tail_loss_check_at() const { return tail_loss_check_at_; }
  void check_tail_loss_by(Nanos at, WakeTime& wake) {
    tail_loss_check_at_ = std::min(tail_loss_check_at_, at);
    wake.by(tail_loss_check_at_);
  }
  void begin_tail_loss_check() { tail_loss_check_at_ = Nanos::never(); }

  // An active path other than `id` that was acknowledged last: its answer to a probe can show that
  // `id` is silent. False: there is none.
  bool find_witness(uint16_t id, uint16_t& witness) const;

  void note_change() {
    changed_ = true;
    ++changes_;
  }
  uint32_t changes() const { return changes_; }  // of states, so far
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  bool silent(const SentPool& pool, uint16_t id) const;
  Nanos late_at(const SentPool& pool, uint16_t id) const;
  bool overtaken(uint16_t id, const SentBurst& run) const;

  const PathSet& paths_;
  Nanos first_unanswered_ = Nanos::never();
  Nanos newest_acked_sent_at_;  // over all paths
  Nanos silence_check_at_;
  Nanos tail_loss_check_at_ = Nanos::never();
  uint16_t newest_acked_path_ = 0;
  uint16_t newest_asking_path_ = 0;  // of the newest packet that asked for an acknowledgement
  bool changed_ = false;             // since take_changed()
  uint32_t changes_ = 0;
};

}  // namespace heddle::transport
