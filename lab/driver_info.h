// Driver info: which driver and firmware a network device has, by the ioctl of `ethtool -i`.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::lab {

struct DriverInfo {
  std::string driver;    // "mlx5_core"
  std::string firmware;  // as the driver writes it; empty: it has none
};

// Of a device in this process's network namespace. Errors: kUnavailable.
Result<DriverInfo> driver_info(const std::string& device);

}  // namespace heddle::lab
