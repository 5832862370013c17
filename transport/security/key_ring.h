// KeyRing: the cluster keys that an endpoint holds. The first is used to connect; every one of them
// is accepted, so that a cluster changes its key host by host. A cluster key itself only derives
// other keys: the one that proves it in a handshake, the one of sessions, and the id by which a
// handshake names it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transport/cluster_key.h"
#include "transport/security/hkdf.h"
#include "transport/wire/handshake.h"

namespace heddle::transport {

// What is derived from one cluster key.
struct RingKey {
  explicit RingKey(const ClusterKey& key);
  ~RingKey();
  RingKey(const RingKey&) = delete;
  RingKey& operator=(const RingKey&) = delete;

  KeyId id;
  Secret handshake;
  Secret session;
};

class KeyRing {
 public:
  explicit KeyRing(std::span<const ClusterKey> keys);

  bool empty() const { return keys_.empty(); }
  // CHECKs that it is not empty.
  const std::shared_ptr<const RingKey>& first() const;
  // Null: no key of this ring has that id.
  std::shared_ptr<const RingKey> find(const KeyId& id) const;

 private:
  std::vector<std::shared_ptr<const RingKey>> keys_;
};

// Proves the key in a handshake packet: writes the MAC (HMAC-SHA-256, 16 bytes of it) over the
// packet, with zeros where the MAC stands, and `also`.
void sign(const RingKey& key, std::span<std::byte> packet, size_t mac_at,
          std::span<const std::byte> also);
// Whether the MAC in a packet of at most kInitBytes is right.
bool proves(const RingKey& key, std::span<const std::byte> packet, size_t mac_at,
            std::span<const std::byte> also);

}  // namespace heddle::transport
