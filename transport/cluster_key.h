// ClusterKey: the secret that all members of a cluster share. An endpoint that holds one talks only
// to endpoints that hold it too; see docs/explanation/security.md.
#pragma once

#include <array>
#include <cstddef>

namespace heddle::transport {

struct ClusterKey {
  static constexpr size_t kBytes = 32;
  std::array<std::byte, kBytes> secret{};

  bool operator==(const ClusterKey&) const = default;
};

// By what handshakes name a key. It is derived one way, and travels in clear.
std::array<std::byte, 8> key_id(const ClusterKey& key);

}  // namespace heddle::transport
