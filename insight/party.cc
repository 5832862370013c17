// See party.h.
#include "insight/party.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heddle::insight {
namespace {

int64_t rank_of(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 &&
                      std::all_of(text.begin(), text.end(),
                                  [](char digit) { return digit >= '0' && digit <= '9'; });
  return number ? std::stoll(text) : -1;
}

// The longest run of at least two zeros becomes "::", of equal ones the first (RFC 5952,
// section 4.2).
std::string groups_text(const std::array<uint32_t, 8>& groups) {
  size_t from = 0;
  size_t longest = 1;
  for (size_t i = 0; i < groups.size(); ++i) {
    size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > longest) {
      from = i;
      longest = end - i;
    }
  }
  if (longest == 1) return fmt::format("{:x}", fmt::join(groups, ":"));
  return fmt::format("{:x}::{:x}", fmt::join(groups.begin(), groups.begin() + from, ":"),
                     fmt::join(groups.begin() + from + longest, groups.end(), ":"));
}

}  // namespace

std::string value_of(const Identity& identity, const std::string& name) {
  for (const auto& [key, value] : identity) {
    if (key == name) return value;
  }
  return {};
}

Party party_of(const Identity& identity) {
  Party party;
  party.host = value_of(identity, "host");
  party.rank = rank_of(value_of(identity, "rank"));
  party.name = party.rank >= 0 ? std::to_string(party.rank)
                               : fmt::format("{}:{}", party.host, value_of(identity, "pid"));
  return party;
}

std::string full_name(const Party& party) {
  if (party.rank < 0) return party.name;
  return fmt::format("rank {} on {}", party.rank, party.host);
}

std::string host_text(uint64_t high, uint64_t low) {
  const auto byte = [high, low](int at) {
    const uint64_t part = at < 8 ? high : low;
    return static_cast<uint32_t>(part >> (56 - 8 * (at % 8)) & 0xff);
  };
  if (high == 0 && low >> 32 == 0xffff) {
    return fmt::format("{}.{}.{}.{}", byte(12), byte(13), byte(14), byte(15));
  }
  std::array<uint32_t, 8> groups{};
  for (size_t i = 0; i < groups.size(); ++i) {
    const int at = static_cast<int>(2 * i);
    groups[i] = byte(at) << 8 | byte(at + 1);
  }
  return "[" + groups_text(groups) + "]";
}

}  // namespace heddle::insight
