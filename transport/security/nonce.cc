// The hash is OpenSSL's.
#include "transport/security/nonce.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {
namespace {

using Digest = std::array<std::byte, EVP_MAX_MD_SIZE>;

Digest hash(std::span<const std::byte> draw) {
  Digest digest;
  size_t length = 0;
  const int done = EVP_Q_digest(nullptr, "SHA256", nullptr, draw.data(), draw.size(),
                                reinterpret_cast<unsigned char*>(digest.data()), &length);
  CHECK(done == 1 && length >= kKeyNonceBytes);
  return digest;
}

}  // namespace

uint64_t draw_nonce(Random& random) {
  std::array<std::byte, sizeof(uint64_t)> draw;
  Writer(draw).put(random.next());
  return Reader(hash(draw)).get<uint64_t>();
}

KeyNonce draw_key_nonce(Random& random) {
  std::array<std::byte, 2 * sizeof(uint64_t)> draw;
  Writer writer(draw);
  writer.put(random.next());
  writer.put(random.next());
  const Digest digest = hash(draw);
  KeyNonce nonce;
  std::copy_n(digest.begin(), nonce.size(), nonce.begin());
  return nonce;
}

}  // namespace heddle::transport
