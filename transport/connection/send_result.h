// SendResult: what became of the try to add a packet to a batch.
#pragma once

#include <cstdint>

namespace heddle::transport {

enum class SendResult : uint8_t {
  kSent,
  kNothing,  // nothing may leave now
  kFull,     // the batch has no room
};

}  // namespace heddle::transport
