// SendResult: whether a packet was added to a batch, and if not, why.
#pragma once

#include <cstdint>

namespace heddle::transport {

enum class SendResult : uint8_t {
  kSent,
  kNothing,  // nothing may leave now
  kFull,     // the batch has no room
};

}  // namespace heddle::transport
