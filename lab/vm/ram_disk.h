// RamDisk: the machine's first root: busybox, the early modules and the scripts of one run.
#pragma once

#include <string>

#include "base/result.h"
#include "lab/vm.h"
#include "lab/vm/guest.h"
#include "lab/vm/kernel.h"

namespace heddle::lab::vm {

// The bytes of the archive. Errors: kUnavailable where a module cannot be read, or `busybox` is
// not a program that runs without libraries.
Result<std::string> make_ram_disk(const VmOptions& options, const Kernel& kernel,
                                  const Caller& caller, const std::string& busybox);

}  // namespace heddle::lab::vm
