// MachineHosts: which hosts of a job run on a machine. A pod has a host name of its own, and what
// its machine's agent reports has the machine's: they share the boot id of the kernel.
#pragma once

#include <map>
#include <set>
#include <string>

#include "insight/party.h"

namespace heddle::insight {

class MachineHosts {
 public:
  // Of a process of the job.
  void add(const Identity& process);
  // By the identity of a machine's recording: the host of its name, where the job has one; else
  // those of its kernel; else its own name.
  std::set<std::string> of(const Identity& machine) const;

 private:
  std::set<std::string> hosts_;
  std::map<std::string, std::set<std::string>> by_boot_;  // boot ids
};

}  // namespace heddle::insight
