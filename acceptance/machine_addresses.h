// Addresses of machines that are given by name: all of one IP version, so that each machine reaches
// each other one. A pure function of what names resolve to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/remote_shell.h"

namespace heddle::acceptance {

enum class IpVersion { k4, k6 };

// The addresses of a name in digits, of one version, in the order of preference; none: it has none.
using Lookup = std::function<std::vector<std::string>(const std::string& name, IpVersion version)>;
// By the name service of this machine (getent).
std::vector<std::string> addresses_by_name_service(const std::string& name, IpVersion version);

struct MachineAddresses {
  std::vector<std::string> addresses;  // by host
  IpVersion version = IpVersion::k4;
  std::string note;  // which version is used, where it is not plain; else empty
};

// IPv4 where all hosts have it, else IPv6. Errors: kUnavailable for a name without an address;
// kInvalid for one whose only addresses are this machine's own (127.0.0.1, ::1) or hold on one link
// (fe80::1), and for hosts that have no version in common.
Result<MachineAddresses> choose_addresses(const std::vector<launch::RemoteHost>& hosts,
                                          const Lookup& lookup);

IpVersion version_of(const std::string& address);

}  // namespace heddle::acceptance
