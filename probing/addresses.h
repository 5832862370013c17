// Addresses of routers as text: what hosts report is not trusted to be one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::probing {

// Of "10.0.0.1", as one number; nothing for other text.
std::optional<uint32_t> ipv4_of(const std::string& text);
std::string ipv4_text(uint32_t value);
// Whether it is an IPv4 or an IPv6 address in digits and nothing else (RFC 4291, 2.2).
bool is_address(const std::string& text);

}  // namespace heddle::probing
