// Destinations: see destinations.h.
#include "relaying/destinations.h"

#include "datapath/resolve.h"
#include "engine/host_port.h"

namespace heddle::relaying {

Result<Destinations> Destinations::make(const std::vector<std::string>& allowed) {
  Destinations made;
  for (const std::string& text : allowed) {
    const Result<engine::HostPort> parts = engine::parse_host_port(text, 0);
    if (!parts) return fail(parts.error());
    const Result<transport::Address> address = datapath::resolve(parts->host, parts->port);
    if (!address) return fail(address.error());
    made.allowed_.push_back({text, parts->host, *address});
  }
  return made;
}

std::optional<transport::Address> Destinations::find(const std::string& hop) const {
  const Result<engine::HostPort> parts = engine::parse_host_port(hop, 0);
  if (!parts || parts->port == 0) return std::nullopt;
  // A session cannot make the relay wait for a resolver.
  std::optional<transport::Address> digits;
  if (const auto address = datapath::parse_address(parts->host, parts->port)) digits = *address;
  for (const Allowed& each : allowed_) {
    transport::Address address = each.address;
    if (address.port == 0) address.port = parts->port;
    if (address.port != parts->port) continue;
    if (each.host == parts->host || (digits && *digits == address)) return address;
  }
  return std::nullopt;
}

std::string Destinations::text() const {
  std::string text;
  for (const Allowed& each : allowed_) text += (text.empty() ? "" : ", ") + each.text;
  return text;
}

}  // namespace heddle::relaying
