// Driver info: which driver, of which version, and which firmware a network device has, by the
// ioctl of `ethtool -i`.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::lab {

struct DriverInfo {
  std::string driver;    // "mlx5_core"
  std::string firmware;  // as the driver writes it; empty: it has none
  // Likewise; the kernel writes its own release for a driver that has none.
  std::string version = {};
};

// Of a device in this process's network namespace. Errors: kUnavailable.
Result<DriverInfo> driver_info(const std::string& device);

}  // namespace heddle::lab
