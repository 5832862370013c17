// Party: a participant of what was recorded, and the text form of its addresses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::insight {

// Names and values of a recording's identity.
using Identity = std::vector<std::pair<std::string, std::string>>;

// A process, or several processes of a host.
struct Party {
  std::string name;
  std::string host;
  int64_t rank = -1;     // -1: unknown
  bool recorded = true;  // false: known only from the recordings of others
};

// Returns the value, or an empty string where there is none.
std::string value_of(const Identity& identity, const std::string& name);
Party party_of(const Identity& identity);
// "rank 3 on h1", or its name where no rank is known: for sentences.
std::string full_name(const Party& party);

// "10.0.0.7", "[2001:db8::7]" as RFC 5952 writes it; of an IPv6 address in two halves, most
// significant first.
std::string host_text(uint64_t high, uint64_t low);

}  // namespace heddle::insight
