// The derivation is OpenSSL's EVP_KDF "HKDF".
#include "transport/security/hkdf.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <vector>

#include "base/check.h"

namespace heddle::transport {
namespace {

OSSL_PARAM octets(const char* name, std::span<const std::byte> bytes) {
  static constexpr std::byte kNone{0};  // OpenSSL takes no null pointer, even for no bytes
  const std::byte* at = bytes.empty() ? &kNone : bytes.data();
  return OSSL_PARAM_construct_octet_string(name, const_cast<std::byte*>(at), bytes.size());
}

void derive(int mode, std::span<const std::byte> key, OSSL_PARAM extra, std::span<std::byte> out) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  CHECK(kdf != nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  EVP_KDF_free(kdf);
  CHECK(context != nullptr);
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                               OSSL_PARAM_construct_int("mode", &mode), octets("key", key), extra,
                               OSSL_PARAM_construct_end()};
  const int done =
      EVP_KDF_derive(context, reinterpret_cast<unsigned char*>(out.data()), out.size(), params);
  EVP_KDF_CTX_free(context);
  CHECK(done == 1);
}

}  // namespace

Secret hkdf_extract(std::span<const std::byte> salt, std::span<const std::byte> material) {
  Secret secret;
  derive(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, material, octets("salt", salt), secret);
  return secret;
}

void hkdf_expand(const Secret& secret, std::string_view label, std::span<const std::byte> context,
                 std::span<std::byte> out) {
  std::vector<std::byte> info(label.size() + context.size());
  const auto text = std::as_bytes(std::span(label));
  std::copy(context.begin(), context.end(), std::copy(text.begin(), text.end(), info.begin()));
  derive(EVP_KDF_HKDF_MODE_EXPAND_ONLY, secret, octets("info", info), out);
}

void wipe(std::span<std::byte> secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

}  // namespace heddle::transport
