// HostIdentity: on which host a process is, as far as sharing memory goes. Two ranks are on one
// host when one kernel runs them in one network namespace, under one host name and for one user:
// hosts of a lab differ in the first of these that may, containers mostly too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace heddle::collectives {

struct HostIdentity {
  static constexpr size_t kBytes = 36;

  uint64_t boot = 0;     // of the kernel's start
  uint64_t network = 0;  // namespace
  uint64_t devices = 0;  // where that namespace is numbered
  uint64_t host = 0;     // of the host's name
  uint32_t user = 0;

  bool operator==(const HostIdentity&) const = default;

  void write(std::byte* bytes) const;
  static HostIdentity read(const std::byte* bytes);
};

// Of this process. Errors: kUnavailable (no /proc).
Result<HostIdentity> host_identity();

// In what two differ, in words; empty: in nothing.
std::string difference(const HostIdentity& mine, const HostIdentity& theirs);

}  // namespace heddle::collectives
