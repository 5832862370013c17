// Faults: changes links and hosts of a running lab, for the file's fault script and for `heddle lab
// fault`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/conditions.h"
#include "lab/lab.h"
#include "topology/fault_order.h"

namespace heddle::lab {

// Holds the lab's lock during its lifetime, so that changes do not interleave.
class FaultLock {
 public:
  explicit FaultLock(const std::string& lab);
  ~FaultLock();
  FaultLock(const FaultLock&) = delete;
  FaultLock& operator=(const FaultLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Errors: kInvalid for conditions that a lab cannot implement: reordering on a link without a rate.
Result<void> check_possible(const Layout& layout, const Conditions& conditions);

// Applies the changes immediately, regardless of their times. Errors: as check_possible, kSystem.
Result<void> change_links(const Lab& lab, const std::vector<topology::LinkChange>& changes);

// Adds one fault by its user-visible name to the current conditions. Errors: as change_links.
Result<void> order_fault(const Lab& lab, const topology::FaultOrder& order);

// Stops or continues all processes of a host; returns their number.
Result<size_t> pause_host(const Lab& lab, uint32_t host, bool paused);

// Ends all faults: restores every link to the file's state and resumes every host.
Result<void> clear_faults(const Lab& lab);

}  // namespace heddle::lab
