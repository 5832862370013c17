// Party: who takes part in what was recorded, and how its addresses are written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::insight {

// Names and values, as a recording's identity has them.
using Identity = std::vector<std::pair<std::string, std::string>>;

// A process, or several of a host.
struct Party {
  std::string name;
  std::string host;
  int64_t rank = -1;     // none known
  bool recorded = true;  // else it is known by what others did with it only
};

// Empty where it is not among them.
std::string value_of(const Identity& identity, const std::string& name);
Party party_of(const Identity& identity);
// "rank 3 on h1", or its name where no rank is known: for sentences.
std::string full_name(const Party& party);

// "10.0.0.7", "[2001:db8::7]" as RFC 5952 writes it; of an IPv6 address in two halves, most
// significant first.
std::string host_text(uint64_t high, uint64_t low);

}  // namespace heddle::insight
