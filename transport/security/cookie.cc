// The hash is OpenSSL's; what goes into it is laid out here.
#include "transport/security/cookie.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstring>

#include "base/check.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {

CookieMaker::CookieMaker(Secrets& secrets) { secrets.fill(SecretUse::kCookieKey, key_); }

std::array<std::byte, kCookieBytes> CookieMaker::make_for(uint64_t epoch, const Address& peer,
                                                          const InitPacket& init) const {
  std::array<std::byte, 16 + 4 + 2 + 4 + 8 + 8 + 8> text;
  Writer writer(text);
  writer.put_bytes(std::as_bytes(std::span(peer.host))).put(peer.scope).put(peer.port);
  writer.put(init.connection).put(init.wire_id).put(init.nonce).put(epoch);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  const auto* made = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          digest.data(), &length);
  CHECK(made != nullptr && length >= kCookieBytes - sizeof(epoch));
  std::array<std::byte, kCookieBytes> cookie;
  std::memcpy(cookie.data(), &epoch, sizeof(epoch));
  std::memcpy(cookie.data() + sizeof(epoch), digest.data(), kCookieBytes - sizeof(epoch));
  return cookie;
}

std::array<std::byte, kCookieBytes> CookieMaker::make(Nanos now, const Address& peer,
                                                      const InitPacket& init) const {
  return make_for(static_cast<uint64_t>(now / kLifetime), peer, init);
}

bool CookieMaker::good(Nanos now, const Address& peer, const InitPacket& init) const {
  uint64_t epoch = 0;
  std::memcpy(&epoch, init.cookie.data(), sizeof(epoch));
  const auto current = static_cast<uint64_t>(now / kLifetime);
  if (epoch != current && epoch + 1 != current) return false;
  const auto expected = make_for(epoch, peer, init);
  return CRYPTO_memcmp(expected.data(), init.cookie.data(), kCookieBytes) == 0;
}

}  // namespace heddle::transport
