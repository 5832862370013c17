// Listen: the server side of `heddle ping` and `heddle perf`.
#pragma once

#include "base/config.h"

namespace heddle::cli {

struct ListenOptions {
  bool once = false;     // ends when the first client has gone
  bool json = false;     // one document at the end instead of lines
  bool relayed = false;  // serves those that come through relays only
};

// Serves until it is stopped; returns the exit status.
int listen(const Config& config, const ListenOptions& options);

}  // namespace heddle::cli
