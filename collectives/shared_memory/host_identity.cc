// HostIdentity: see host_identity.h.
#include "collectives/shared_memory/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/boot_id.h"
#include "base/hash.h"

namespace heddle::collectives {
void HostIdentity::write(std::byte* bytes) const {
  for (const uint64_t value : {boot, network, devices, host}) {
    for (size_t i = 0; i < 8; ++i) *bytes++ = static_cast<std::byte>(value >> (8 * i));
  }
  for (size_t i = 0; i < 4; ++i) *bytes++ = static_cast<std::byte>(user >> (8 * i));
}

HostIdentity HostIdentity::read(const std::byte* bytes) {
  const auto take = [&bytes](size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= static_cast<uint64_t>(*bytes++) << (8 * i);
    return value;
  };
  HostIdentity read;
  for (uint64_t* field : {&read.boot, &read.network, &read.devices, &read.host}) *field = take(8);
  read.user = static_cast<uint32_t>(take(4));
  return read;
}

Result<HostIdentity> host_identity() {
  const std::string boot = boot_id();
  struct stat network {};
  std::array<char, 256> name{};
  if (boot.empty() || stat("/proc/self/ns/net", &network) != 0 ||
      gethostname(name.data(), name.size() - 1) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot share memory between ranks",
                "the system does not say on which host this is", "mount /proc");
  }
  return HostIdentity{.boot = hash_text(boot),
                      .network = network.st_ino,
                      .devices = network.st_dev,
                      .host = hash_text(name.data()),
                      .user = geteuid()};
}

std::string difference(const HostIdentity& mine, const HostIdentity& theirs) {
  if (mine.boot != theirs.boot) return "they run on different hosts";
  if (mine.network != theirs.network || mine.devices != theirs.devices) {
    return "they are in different network namespaces";
  }
  if (mine.host != theirs.host) return "their hosts have different names";
  if (mine.user != theirs.user) return "they belong to different users";
  return "";
}

}  // namespace heddle::collectives
