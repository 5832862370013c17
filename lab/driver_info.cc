// See driver_info.h.
#include "lab/driver_info.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace heddle::lab {
namespace {

// Of a field that may be full.
template <size_t size>
std::string text_of(const char (&field)[size]) {
  return {field, strnlen(field, size)};
}

}  // namespace

Result<DriverInfo> driver_info(const std::string& device) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  device.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&info);
  if (socket.valid() && ioctl(socket.number(), SIOCETHTOOL, &request) == 0) {
    return DriverInfo{text_of(info.driver), text_of(info.fw_version), text_of(info.version)};
  }
  return fail(ErrorCode::kUnavailable, "cannot read the driver of " + device, std::strerror(errno));
}

}  // namespace heddle::lab
