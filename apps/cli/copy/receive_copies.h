// The receiving side of `heddle copy`.
#pragma once

#include <string>

#include "base/config.h"

namespace heddle::cli {

struct ReceiveOptions {
  std::string folder;
  bool once = false;          // ends when the first sender has left
  bool started = false;       // by a sender: any free port, and the folder is made
  bool without_keys = false;  // accepts files from anyone
  bool relayed = false;       // from senders that come through relays only
};

// Receives until it is stopped; returns the exit status.
int receive_copies(const Config& config, const ReceiveOptions& options);

}  // namespace heddle::cli
