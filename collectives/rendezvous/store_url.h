// Store URLs: where a store is, as HEDDLE_STORE and launchers say it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle::collectives {

struct StoreUrl {
  std::string host_port;  // "host:port" or "[v6]:port"; empty: a file says it
  std::string file;       // absolute
};

// "udp://host:port", "tcp://host:port" (the same: the port is one of UDP), "file:///path". Errors:
// kInvalid.
Result<StoreUrl> parse_store_url(std::string_view text);

}  // namespace heddle::collectives
