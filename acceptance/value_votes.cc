// See value_votes.h.
#include "acceptance/value_votes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace heddle::acceptance {

std::optional<std::string> value_of_most(const HostValues& values) {
  std::map<std::string, size_t> votes;
  for (const auto& [host, value] : values) {
    if (2 * ++votes[value] > values.size()) return value;
  }
  return std::nullopt;
}

Row split_row(const std::string& check, const HostValues& values, const std::string& of) {
  std::vector<std::string> hosts;
  std::vector<std::pair<std::string, std::vector<std::string>>> by_value;  // in the hosts' order
  for (const auto& [host, value] : values) {
    hosts.push_back(host);
    const auto found = std::find_if(by_value.begin(), by_value.end(),
                                    [&](const auto& each) { return each.first == value; });
    if (found == by_value.end()) {
      by_value.push_back({value, {host}});
    } else {
      found->second.push_back(host);
    }
  }
  Row row{check,
          fmt::format("{}", fmt::join(hosts, ", ")),
          of,
          "the same on all",
          Grade::kWarn,
          "no value is that of most hosts: look which one is meant, and make the others alike"};
  for (const auto& [value, having] : by_value) {
    row.measured += fmt::format("{}{} on {}", &value == &by_value.front().first ? "" : "; ", value,
                                fmt::join(having, ", "));
  }
  return row;
}

}  // namespace heddle::acceptance
