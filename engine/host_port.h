// HostPort: parser for "host", "host:port" and "[v6]:port".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::engine {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// An IPv6 address with a port needs brackets. Errors: kInvalid (empty host, port not in 1 to
// 65535).
Result<HostPort> parse_host_port(std::string_view text, uint16_t default_port);

}  // namespace heddle::engine
