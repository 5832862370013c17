// See addresses.h.
#include "probing/addresses.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace heddle::probing {
namespace {

constexpr size_t kLongest = 45;  // with an IPv4 address at its end

bool is_group(const std::string& text) {
  return !text.empty() && text.size() <= 4 && std::all_of(text.begin(), text.end(), [](char each) {
    return std::isxdigit(static_cast<unsigned char>(each)) != 0;
  });
}

// How many groups of 16 bits a part without "::" has; nothing if it is none.
std::optional<size_t> groups_of(const std::string& text) {
  if (text.empty()) return 0;
  size_t groups = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(':', at), text.size());
    const std::string group = text.substr(at, end - at);
    const bool is_last = end == text.size();
    if (is_last && ipv4_of(group)) return groups + 2;
    if (!is_group(group)) return std::nullopt;
    ++groups;
    at = end + 1;
  }
  return groups;
}

bool is_ipv6(const std::string& text) {
  const size_t gap = text.find("::");
  if (gap == std::string::npos) return groups_of(text) == 8;
  const std::string front = text.substr(0, gap);
  if (front.find('.') != std::string::npos) return false;
  const std::optional<size_t> before = groups_of(front);
  const std::optional<size_t> behind = groups_of(text.substr(gap + 2));
  return before && behind && *before + *behind < 8;
}

}  // namespace

std::optional<uint32_t> ipv4_of(const std::string& text) {
  uint32_t value = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int part = 0; part < 4; ++part) {
    uint32_t number = 256;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number > 255) return std::nullopt;
    if (part < 3 && (next == end || *next != '.')) return std::nullopt;
    value = value << 8 | number;
    at = part < 3 ? next + 1 : next;
  }
  return at == end && ipv4_text(value) == text ? std::optional(value) : std::nullopt;
}

std::string ipv4_text(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += (text.empty() ? "" : ".") + std::to_string(value >> shift & 255);
  }
  return text;
}

bool is_address(const std::string& text) {
  return text.size() <= kLongest && (ipv4_of(text) || is_ipv6(text));
}

}  // namespace heddle::probing
