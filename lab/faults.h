// Faults: changes of links and hosts of a lab that is up: what the file's script plays and what
// `heddle lab fault` asks for.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "lab/conditions.h"
#include "lab/lab.h"
#include "topology/fault_order.h"

namespace heddle::lab {

// Holds the lab's lock for as long as it lives, so that two changes never mix.
class FaultLock {
 public:
  explicit FaultLock(const std::string& lab);
  ~FaultLock();
  FaultLock(const FaultLock&) = delete;
  FaultLock& operator=(const FaultLock&) = delete;

 private:
  int descriptor_ = -1;
};

// Errors: kInvalid where a lab cannot do this: reordering on a link without a rate.
Result<void> check_possible(const Layout& layout, const Conditions& conditions);

// Makes the changes at once, whatever their times are. Errors: as check_possible, kSystem.
Result<void> change_links(const Lab& lab, const std::vector<topology::LinkChange>& changes);

// One fault as people name it, added to what holds now. Errors: as change_links.
Result<void> order_fault(const Lab& lab, const topology::FaultOrder& order);

// Stops or continues all processes of a host; returns how many there were.
Result<size_t> pause_host(const Lab& lab, uint32_t host, bool paused);

// Ends all faults: every link is again as the file says, every host goes on.
Result<void> clear_faults(const Lab& lab);

}  // namespace heddle::lab
