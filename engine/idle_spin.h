// IdleSpin: what a thread that leads an endpoint does in the time before it sleeps: it spins where
// work has been arriving soon, and yields its core where another thread needs it.
#pragma once

#include "base/nanos.h"
#include "datapath/datapath.h"
#include "engine/cores.h"
#include "engine/options.h"
#include "engine/spin_budget.h"

namespace heddle::engine {

class IdleSpin {
 public:
  // `clock` must outlive it.
  IdleSpin(Spin policy, Nanos limit, datapath::Datapath& clock)
      : policy_(policy), budget_(limit), clock_(clock) {}

  // For a thread that begins to lead; `reserved_cores` stay free for others.
  SpinPermit permit(int reserved_cores) const {
    return policy_ == Spin::kNever ? SpinPermit() : SpinPermit::take(reserved_cores);
  }
  void on_idle_ended(Nanos idle) { budget_.on_idle_ended(idle); }
  bool may_spin(const SpinPermit& permit, Nanos idle) const {
    return permit.granted() && (policy_ == Spin::kAlways || idle < budget_.budget());
  }
  // One step of spinning, idle for `idle`. `pauses`: polling is no system call, so that the core
  // needs a pause.
  void step(Nanos idle, bool pauses);

 private:
  const Spin policy_;
  SpinBudget budget_;
  datapath::Datapath& clock_;
  bool core_is_wanted_ = false;  // the last yield found that another thread needs it
};

}  // namespace heddle::engine
