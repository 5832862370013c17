// ClusterKey: the secret that all members of a cluster share. An endpoint that holds one talks only
// to endpoints that hold it too; see docs/security.md.
#pragma once

#include <array>
#include <cstddef>

namespace heddle::transport {

struct ClusterKey {
  static constexpr size_t kBytes = 32;
  std::array<std::byte, kBytes> secret{};

  bool operator==(const ClusterKey&) const = default;
};

}  // namespace heddle::transport
