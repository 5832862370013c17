// Labels keep what is derived for one purpose apart from all others.
#include "transport/security/key_ring.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace heddle::transport {
namespace {

constexpr size_t kMostAlso = kKeyNonceBytes;

std::array<std::byte, kMacBytes> mac_of(const RingKey& key, std::span<const std::byte> packet,
                                        size_t mac_at, std::span<const std::byte> also) {
  CHECK(packet.size() <= kInitBytes && mac_at + kMacBytes <= packet.size());
  CHECK(also.size() <= kMostAlso);
  std::array<std::byte, kInitBytes + kMostAlso> text;
  std::byte* end = std::copy(packet.begin(), packet.end(), text.data());
  std::fill_n(text.data() + mac_at, kMacBytes, std::byte{0});
  end = std::copy(also.begin(), also.end(), end);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int length = 0;
  const auto* made = HMAC(EVP_sha256(), key.handshake.data(), kSecretBytes,
                          reinterpret_cast<const unsigned char*>(text.data()),
                          static_cast<size_t>(end - text.data()), digest.data(), &length);
  CHECK(made != nullptr && length >= kMacBytes);
  std::array<std::byte, kMacBytes> mac;
  std::memcpy(mac.data(), digest.data(), mac.size());
  return mac;
}

}  // namespace

RingKey::RingKey(const ClusterKey& key) {
  Secret secret = hkdf_extract(std::as_bytes(std::span("heddle cluster key")), key.secret);
  hkdf_expand(secret, "heddle 1 id", {}, id);
  hkdf_expand(secret, "heddle 1 handshake", {}, handshake);
  hkdf_expand(secret, "heddle 1 session", {}, session);
  wipe(secret);
}

RingKey::~RingKey() {
  wipe(handshake);
  wipe(session);
}

std::array<std::byte, 8> key_id(const ClusterKey& key) { return RingKey(key).id; }

KeyRing::KeyRing(std::span<const ClusterKey> keys) {
  for (const ClusterKey& key : keys) keys_.push_back(std::make_shared<const RingKey>(key));
}

const std::shared_ptr<const RingKey>& KeyRing::first() const {
  CHECK(!keys_.empty());
  return keys_.front();
}

std::shared_ptr<const RingKey> KeyRing::find(const KeyId& id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&id](const auto& key) { return key->id == id; });
  return found == keys_.end() ? nullptr : *found;
}

void sign(const RingKey& key, std::span<std::byte> packet, size_t mac_at,
          std::span<const std::byte> also) {
  const auto mac = mac_of(key, packet, mac_at, also);
  std::copy(mac.begin(), mac.end(), packet.begin() + static_cast<ptrdiff_t>(mac_at));
}

bool proves(const RingKey& key, std::span<const std::byte> packet, size_t mac_at,
            std::span<const std::byte> also) {
  if (packet.size() > kInitBytes || mac_at + kMacBytes > packet.size()) return false;
  const auto mac = mac_of(key, packet, mac_at, also);
  return CRYPTO_memcmp(mac.data(), packet.data() + mac_at, kMacBytes) == 0;
}

}  // namespace heddle::transport
