// See machine_addresses.h.
#include "acceptance/machine_addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "lab/tool.h"

namespace heddle::acceptance {
namespace {

// A host's first usable address of each version, and the first one that is not usable.
struct Found {
  std::string ipv4;
  std::string ipv6;
  std::string unusable;

  const std::string& of(IpVersion version) const { return version == IpVersion::k4 ? ipv4 : ipv6; }
};

// An address in whichever notation, and no name: "10.0.0.1", "0:0:0:0:0:0:0:1".
bool is_address(const std::string& text) {
  return text.find(':') != std::string::npos ||
         text.find_first_not_of("0123456789.") == std::string::npos;
}

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "::1";
}

// fe80::/10 (RFC 4291, 2.5.6).
bool is_link_local(const std::string& address) {
  return address.size() > 3 && address.rfind("fe", 0) == 0 &&
         std::string("89ab").find(address[2]) != std::string::npos;
}

// "[fd00::1]" is fd00::1.
std::string without_brackets(const std::string& text) {
  const bool has = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return has ? text.substr(1, text.size() - 2) : text;
}

Found find(const std::string& name, const Lookup& lookup) {
  Found found;
  for (const IpVersion version : {IpVersion::k4, IpVersion::k6}) {
    std::string& first = version == IpVersion::k4 ? found.ipv4 : found.ipv6;
    for (const std::string& each : lookup(name, version)) {
      // A loopback address that was written is meant: a test of one machine.
      const bool usable = (!is_loopback(each) || is_address(name)) && !is_link_local(each);
      std::string& place = usable ? first : found.unusable;
      if (place.empty()) place = each;
    }
  }
  return found;
}

Unexpected no_address(const launch::RemoteHost& host, const Found& found) {
  const std::string what = fmt::format("cannot find the address of {}", host.address);
  const std::string todo =
      fmt::format("write {}=ADDRESS, with its address in the fabric", host.name);
  if (found.unusable.empty()) {
    return fail(ErrorCode::kUnavailable, what,
                "`getent ahostsv4` and `getent ahostsv6` know no such name", todo);
  }
  if (is_link_local(found.unusable)) {
    return fail(
        ErrorCode::kInvalid, what,
        fmt::format("{} is a link-local address, which holds on one link alone", found.unusable),
        todo);
  }
  return fail(ErrorCode::kInvalid, what, fmt::format("the name is {} here", found.unusable), todo);
}

std::string note_of(IpVersion version, const std::vector<launch::RemoteHost>& hosts,
                    const std::vector<Found>& found) {
  const auto both = std::count_if(found.begin(), found.end(), [](const Found& each) {
    return !each.ipv4.empty() && !each.ipv6.empty();
  });
  if (version == IpVersion::k4) {
    if (both == 0) return {};
    return fmt::format(
        "IPv4 is tested; {} of {} machines have IPv6 addresses too: for a test of those write "
        "NAME=ADDRESS",
        both, hosts.size());
  }
  const auto without =
      std::find_if(found.begin(), found.end(), [](const Found& each) { return each.ipv4.empty(); });
  const auto at = static_cast<size_t>(without - found.begin());
  const auto given = [](const launch::RemoteHost& host) { return is_address(host.address); };
  if (std::any_of(hosts.begin(), hosts.end(), given)) {
    return "IPv6 is tested: IPv6 addresses are given";
  }
  return both == 0
             ? std::string("IPv6 is tested: no machine has an IPv4 address by its name")
             : fmt::format("IPv6 is tested: {} has no IPv4 address by its name", hosts[at].name);
}

}  // namespace

std::vector<std::string> addresses_by_name_service(const std::string& name, IpVersion version) {
  const Result<std::string> text =
      lab::run_tool({"getent", version == IpVersion::k4 ? "ahostsv4" : "ahostsv6", name});
  std::vector<std::string> addresses;
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    const std::string address = line.substr(0, line.find_first_of(" \t"));
    if (address.empty() || address.rfind("::ffff:", 0) == 0) continue;  // an IPv4 address as IPv6
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) {
      addresses.push_back(address);
    }
  }
  return addresses;
}

Result<MachineAddresses> choose_addresses(const std::vector<launch::RemoteHost>& hosts,
                                          const Lookup& lookup) {
  std::vector<Found> found;
  std::optional<size_t> without4;
  std::optional<size_t> without6;
  for (const launch::RemoteHost& host : hosts) {
    found.push_back(find(without_brackets(host.address), lookup));
    const Found& each = found.back();
    if (each.ipv4.empty() && each.ipv6.empty()) return no_address(host, each);
    if (each.ipv4.empty() && !without4) without4 = found.size() - 1;
    if (each.ipv6.empty() && !without6) without6 = found.size() - 1;
  }
  if (without4 && without6) {
    return fail(ErrorCode::kInvalid,
                fmt::format("cannot test {} with {}", hosts[*without4].name, hosts[*without6].name),
                fmt::format("{} has an IPv6 address alone, {}, and {} an IPv4 address alone, {}",
                            hosts[*without4].name, found[*without4].ipv6, hosts[*without6].name,
                            found[*without6].ipv4),
                "write NAME=ADDRESS with addresses of one IP version for all machines");
  }
  MachineAddresses made;
  made.version = without4 ? IpVersion::k6 : IpVersion::k4;
  for (const Found& each : found) made.addresses.push_back(each.of(made.version));
  made.note = note_of(made.version, hosts, found);
  return made;
}

IpVersion version_of(const std::string& address) {
  return address.find(':') == std::string::npos ? IpVersion::k4 : IpVersion::k6;
}

}  // namespace heddle::acceptance
