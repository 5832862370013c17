// Why a peer refuses a connection: the reason travels in its answer, and its text is the cause that
// the caller of connect gets.
#pragma once

#include <cstdint>

namespace heddle::transport {

enum class RefuseReason : uint8_t {
  kNotAccepting = 0,
  kFull = 1,
  kCongestionUnknown = 2,
  kDatagramsTooSmall = 3,
  kNoKeys = 4,  // the init names a cluster key, and this side has none
  // The init offers another level of protection than the one that this side demands.
  kDemandsHeaders = 5,
  kDemandsFull = 6,
  kEnded = 7,  // the init made a connection, which this side has ended since
};

// "the peer does not accept connections": why there is none, for the caller.
const char* text_of(RefuseReason reason);

}  // namespace heddle::transport
