// HKDF-SHA-256 (RFC 5869) by OpenSSL: derives keys from a key. The caller chooses the salt, the
// label and the context.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace heddle::transport {

inline constexpr size_t kSecretBytes = 32;
using Secret = std::array<std::byte, kSecretBytes>;

// RFC 5869 section 2.2: one uniform secret from key material.
Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> material);

// RFC 5869 section 2.3: fills `out` (at most 255 x 32 bytes) from a secret, for the purpose that
// `label` and `context`, one behind the other, name.
void hkdf_expand(const Secret& secret, std::string_view label, std::span<const std::byte> context,
                 std::span<std::byte> out);

// Overwrites a secret that is not needed any more.
void wipe(std::span<std::byte> secret);

}  // namespace heddle::transport
