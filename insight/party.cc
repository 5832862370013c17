// See party.h.
#include "insight/party.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::insight {
namespace {

int64_t rank_of(const std::string& text) {
  const bool number = !text.empty() && text.size() < 10 &&
                      std::all_of(text.begin(), text.end(),
                                  [](char digit) { return digit >= '0' && digit <= '9'; });
  return number ? std::stoll(text) : -1;
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
  std::string text;
  for (int at = 0; at < 16; at += 2) {
    text += fmt::format("{}{:x}", at == 0 ? "" : ":", byte(at) << 8 | byte(at + 1));
  }
  return "[" + text + "]";
}

}  // namespace heddle::insight
