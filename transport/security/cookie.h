// CookieMaker: proof that a peer receives at the address it claims, without keeping anything about
// it: a keyed hash (HMAC-SHA-256, cut to 16 bytes) of the address, the peer's ids and nonce, and a
// coarse time.
#pragma once

#include <array>
#include <cstdint>

#include "base/nanos.h"
#include "transport/address.h"
#include "transport/params.h"
#include "transport/security/secrets.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

class CookieMaker {
 public:
  // A cookie is good for this long at least, and for twice as long at most.
  static constexpr Nanos kLifetime = params::security::kCookieLifetime;

  explicit CookieMaker(Secrets& secrets);

  std::array<std::byte, kCookieBytes> make(Nanos now, const Address& peer,
                                           const InitPacket& init) const;
  bool good(Nanos now, const Address& peer, const InitPacket& init) const;

 private:
  std::array<std::byte, kCookieBytes> make_for(uint64_t epoch, const Address& peer,
                                               const InitPacket& init) const;

  std::array<std::byte, 32> key_;
};

}  // namespace heddle::transport
