// The kernel generates it at every boot: see boot_id.h.
#include "base/boot_id.h"

#include <fstream>

namespace heddle {

std::string boot_id() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

}  // namespace heddle
