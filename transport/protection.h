// Protection: what cluster keys do for the packets of a connection. Both sides of a connection have
// the same level, or there is none; docs/explanation/security.md says what each is good for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::transport {

// The values travel in handshakes.
enum class Protection : uint8_t {
  kHeaders = 1,  // headers and control packets are authenticated; payload of data packets is not
  kFull = 2,     // everything is authenticated and encrypted
};

constexpr std::string_view name_of(Protection protection) {
  return protection == Protection::kHeaders ? "headers" : "full";
}

constexpr std::optional<Protection> protection_of(std::string_view name) {
  for (const Protection each : {Protection::kHeaders, Protection::kFull}) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

}  // namespace heddle::transport
