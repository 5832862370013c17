// Secrets: what an endpoint draws that a stranger must not be able to guess: ids, nonces, tokens,
// marks and keys. HMAC-SHA-256 of a counter under a key made of the seed (NIST SP 800-108, counter
// mode), a stream for each use, so that what travels in clear says nothing of any other draw.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/seed.h"
#include "transport/security/hkdf.h"

namespace heddle::transport {

enum class SecretUse : uint8_t {
  kConnectionId,   // what packets of a connection name it by
  kNonce,          // of a handshake
  kKeyNonce,       // of a keyed handshake
  kCookieKey,      // of the cookies for strangers
  kProbeToken,     // of probes between NICs
  kDiscoveryMark,  // of probes of the fabric's routes
  kChoice,         // seeds what need not be secret: the choice of paths
};
inline constexpr size_t kSecretUses = 7;

class Secrets {
 public:
  explicit Secrets(const Seed& seed);
  ~Secrets() { wipe(key_); }
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  // The next 64 bits of this use's stream.
  uint64_t draw(SecretUse use);
  // The same, never 0.
  uint64_t draw_nonzero(SecretUse use);
  // Fills `out` from this use's stream; at most 32 bytes.
  void fill(SecretUse use, std::span<std::byte> out);

 private:
  Secret key_;
  std::array<uint64_t, kSecretUses> drawn_{};
};

}  // namespace heddle::transport
