// The state machine of a path: which state follows which event, and what the send controller does
// then. docs/explanation/protocol.md shows the same table. PathHealth keeps the state of one path.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "events/events.h"

namespace heddle::transport {

// What happened to a path, as PathLiveness judges it or as the peer or a NIC reports it.
enum class PathEvent : uint8_t {
  kNone,
  kAcked,            // a packet of the path was acknowledged
  kLate,             // other packets overtook its oldest packet: the tail-loss delay passed
  kTailTimeout,      // the PTO expired with packets in flight
  kProbesExhausted,  // the PTO expired and kTailProbes probes went unanswered
  kProbeUnanswered,  // a probe of a path that is not active was not answered in time
  kSilent,           // another path delivered what left much later
  kSendFailed,       // a reliable NIC reported that it could not deliver a packet
  kNewEpoch,         // the peer rejects what was sent in the path's earlier epochs
  kMoved,            // the path leads between other NICs now
};

struct PathTransition {
  events::PathState to = events::PathState::kActive;
  std::optional<events::LossCause> loss;  // all packets in flight on the path are declared lost
  bool probe = false;                     // a probe is sent on the path
};

namespace path_state {

struct Row {
  events::PathState from;
  PathEvent event;
  PathTransition then;
};

using enum events::PathState;
inline constexpr auto kTimeout = events::LossCause::kTimeout;
inline constexpr auto kPathFailure = events::LossCause::kPathFailure;

// What is not listed changes nothing.
inline constexpr std::array kTable = {
    Row{kActive, PathEvent::kLate, {kActive, std::nullopt, true}},
    Row{kActive, PathEvent::kTailTimeout, {kActive, std::nullopt, true}},
    Row{kActive, PathEvent::kProbesExhausted, {kSuspect, kTimeout, true}},
    Row{kActive, PathEvent::kSilent, {kSuspect, kPathFailure, true}},
    Row{kActive, PathEvent::kSendFailed, {kSuspect, kPathFailure, true}},
    Row{kActive, PathEvent::kNewEpoch, {kActive, kPathFailure, false}},
    Row{kSuspect, PathEvent::kProbeUnanswered, {kProbing, kTimeout, true}},
    Row{kSuspect, PathEvent::kAcked, {kActive, std::nullopt, false}},
    Row{kSuspect, PathEvent::kNewEpoch, {kSuspect, kPathFailure, true}},
    Row{kSuspect, PathEvent::kMoved, {kSuspect, std::nullopt, true}},
    Row{kProbing, PathEvent::kProbeUnanswered, {kProbing, kTimeout, true}},
    Row{kProbing, PathEvent::kAcked, {kActive, std::nullopt, false}},
    Row{kProbing, PathEvent::kNewEpoch, {kProbing, kPathFailure, true}},
    Row{kProbing, PathEvent::kMoved, {kProbing, std::nullopt, true}},
};

}  // namespace path_state

constexpr PathTransition transition_of(events::PathState from, PathEvent event) {
  for (const path_state::Row& row : path_state::kTable) {
    if (row.from == from && row.event == event) return row.then;
  }
  return {from, std::nullopt, false};
}

// One byte a path.
class PathHealth {
 public:
  // Probes are counted up to here; the PTO no longer backs off then.
  static constexpr uint8_t kMostUnanswered = 15;

  events::PathState state() const { return state_; }
  bool active() const { return state_ == events::PathState::kActive; }
  void enter(events::PathState state) { state_ = state; }

  uint8_t unanswered_probes() const { return unanswered_; }
  void count_unanswered(uint32_t probes = 1) {
    const uint32_t most = uint32_t{kMostUnanswered} - unanswered_;
    unanswered_ = (unanswered_ + std::min(probes, most)) & kMostUnanswered;
  }
  void answered() { unanswered_ = 0; }

 private:
  friend class ProbeQueue;

  events::PathState state_ : 2 = events::PathState::kActive;
  uint8_t unanswered_ : 4 = 0;
  bool probe_wanted_ : 1 = false;
};
static_assert(sizeof(PathHealth) == 1);

}  // namespace heddle::transport
