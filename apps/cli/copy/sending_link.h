// SendingLink: how `heddle copy` reaches the receiver, directly or through relays.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/message_link.h"

namespace heddle::cli {

struct ReceiverPlace {
  std::string host;
  uint16_t port = 0;
  std::vector<std::string> relays;  // in their order; empty: none
  bool started = false;             // by this command
};

struct SendingLink {
  std::unique_ptr<engine::MessageLink> link;
  std::string peer;  // for the user
};

// Waits until the link is open. Errors: those of the handshake, with advice; what a relay refuses;
// kInvalid and kUnavailable (names), kCancelled (a signal came).
Result<SendingLink> open_sending_link(engine::Endpoint& endpoint, const ReceiverPlace& place);

}  // namespace heddle::cli
