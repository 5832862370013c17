// ProgramWait: for which actions the program of a rank waits, and how much of its waits in a step
// no computation has hidden.
#pragma once

#include <cstdint>
#include <utility>

#include "base/nanos.h"
#include "topology/job.h"

namespace heddle::jobs {

class ProgramWait {
 public:
  // `computed`: the time that the rank has computed in this step (PendingActions::computed()).
  // `computes`: it waits for its own computation, which counts nothing.
  void begin(uint32_t label, bool computes, Nanos now, Nanos computed) {
    waits_ = true;
    label_ = label;
    since_ = computes ? Nanos::never() : now;
    computed_before_ = computed;
  }
  void end(Nanos now, Nanos computed) {
    waits_ = false;
    if (since_ == Nanos::never()) return;
    exposed_ += now - since_ - (computed - computed_before_);
  }

  bool waits() const { return waits_; }
  // Of the actions that it waits for, or waited for last.
  uint32_t label() const { return label_; }
  // In this step, which ends.
  Nanos take_exposed() { return std::exchange(exposed_, Nanos{}); }

 private:
  bool waits_ = false;
  uint32_t label_ = topology::kNoLabel;
  Nanos since_;            // never(): it computes
  Nanos computed_before_;  // in this step
  Nanos exposed_;          // in this step
};

}  // namespace heddle::jobs
