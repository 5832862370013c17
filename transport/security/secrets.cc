// The hash is OpenSSL's; what goes into it is laid out here.
#include "transport/security/secrets.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "base/check.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {

Secrets::Secrets(const Seed& seed)
    : key_(hkdf_extract(std::as_bytes(std::span("heddle endpoint")),
                        std::as_bytes(std::span(seed.words)))) {}

void Secrets::fill(SecretUse use, std::span<std::byte> out) {
  std::array<std::byte, 1 + sizeof(uint64_t)> text;
  Writer(text).put(static_cast<uint8_t>(use)).put(drawn_[static_cast<size_t>(use)]++);
  std::array<std::byte, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  const auto* made = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          reinterpret_cast<unsigned char*>(digest.data()), &length);
  CHECK(made != nullptr && out.size() <= length);
  std::copy_n(digest.begin(), out.size(), out.begin());
}

uint64_t Secrets::draw(SecretUse use) {
  std::array<std::byte, sizeof(uint64_t)> bytes;
  fill(use, bytes);
  return Reader(bytes).get<uint64_t>();
}

uint64_t Secrets::draw_nonzero(SecretUse use) {
  uint64_t drawn = 0;
  while (drawn == 0) drawn = draw(use);
  return drawn;
}

}  // namespace heddle::transport
