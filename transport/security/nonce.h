// Nonces travel in clear. Drawn as they are they would tell the state of the generator, and with it
// the cookies' key; so what is sent is a one-way function of the draw.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

// The first eight bytes of SHA-256 of the next draw.
uint64_t draw_nonce(Random& random);
// The first 16 bytes of SHA-256 of the next two draws.
KeyNonce draw_key_nonce(Random& random);

}  // namespace heddle::transport
