// The hash is OpenSSL's.
#include "transport/security/nonce.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"
#include "transport/wire/cursor.h"

namespace heddle::transport {

uint64_t draw_nonce(Random& random) {
  std::array<std::byte, sizeof(uint64_t)> draw;
  Writer(draw).put(random.next());
  std::array<std::byte, EVP_MAX_MD_SIZE> digest;
  size_t length = 0;
  const int done = EVP_Q_digest(nullptr, "SHA256", nullptr, draw.data(), draw.size(),
                                reinterpret_cast<unsigned char*>(digest.data()), &length);
  CHECK(done == 1 && length >= sizeof(uint64_t));
  return Reader(digest).get<uint64_t>();
}

}  // namespace heddle::transport
