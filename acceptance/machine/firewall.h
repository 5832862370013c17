// Firewall: what of a host's packet filters may drop the packets of a test, from the ruleset that
// nft lists.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "acceptance/report.h"

namespace heddle::acceptance {

struct Firewall {
  std::set<std::string> dropping;  // "input", "forward": drops what no rule accepts, by the
                                   // chain's policy or by its last rule
  size_t drop_rules = 0;           // that drop or reject, in tables with such chains
  bool accepts_port = false;       // a rule accepts heddle's UDP port by its number
  bool drops_port = false;         // a rule drops it
  bool legacy = false;             // iptables-legacy has rules, which nft does not list

  bool operator==(const Firewall&) const = default;
};

// Of `nft -j list ruleset`, and of /proc/net/ip_tables_names with that of IPv6 behind it; nothing
// for what is no ruleset.
std::optional<Firewall> firewall_of(const std::string& ruleset, const std::string& legacy_tables);

// "drops on input by default"; "not known" of none. The number of rules is left out: programs such
// as container engines change it, and it differs among healthy hosts.
std::string firewall_text(const std::optional<Firewall>& firewall);
// Whether the test's packets may be dropped.
bool may_drop(const Firewall& firewall);

Json json_of(const Firewall& firewall);
// Nothing for a document of another shape, as of another version of heddle.
std::optional<Firewall> firewall_in(const Json& document);

}  // namespace heddle::acceptance
