// HostPort: "host", "host:port" and "[v6]:port" as people write them.
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

// An IPv6 address without brackets has no port. Errors: kInvalid (empty host, impossible port).
Result<HostPort> parse_host_port(std::string_view text, uint16_t default_port);

}  // namespace heddle::engine
