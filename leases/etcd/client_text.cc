// See client_text.h.
#include "leases/etcd/client_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

namespace heddle::leases {

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char each : text) {
    const size_t digit = kDigits.find(each);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

std::string quoted_for_client(std::string_view text) {
  std::string quoted = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') {
      quoted += '\\';
      quoted += each;
    } else if (static_cast<unsigned char>(each) < ' ' || each == 127) {
      fmt::format_to(std::back_inserter(quoted), "\\x{:02x}", static_cast<unsigned>(each));
    } else {
      quoted += each;
    }
  }
  return quoted + '"';
}

std::string error_of_client(const std::string& line) {
  if (line.empty()) return "its client failed and printed nothing";
  const nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
  if (!document.is_object()) return line;
  const auto found = document.find("error");
  return found != document.end() && found->is_string() ? found->get<std::string>() : line;
}

}  // namespace heddle::leases
