// HostPort: see host_port.h.
#include "engine/host_port.h"

#include <algorithm>
#include <charconv>

namespace heddle::engine {
namespace {

Unexpected bad_name(std::string_view text, std::string why) {
  return fail(ErrorCode::kInvalid, "'" + std::string(text) + "' is not a host", std::move(why),
              "give a name or an address, with :port or [v6]:port where the port differs");
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text, uint16_t default_port) {
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return bad_name(text, "a bracket is not closed");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return bad_name(text, "text follows the bracket");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    const size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (host.empty()) return bad_name(text, "the name is empty");
  if (!has_port) return HostPort{std::string(host), default_port};
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535) {
    return bad_name(text, "a port is a number from 1 to 65535");
  }
  return HostPort{std::string(host), static_cast<uint16_t>(number)};
}

}  // namespace heddle::engine
