// Value votes: the value that most hosts have, or that none has a majority. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "acceptance/report.h"

namespace heddle::acceptance {

// Hosts in their order, and what each has.
using HostValues = std::vector<std::pair<std::string, std::string>>;

// The value that more than half of them have; nothing where none is.
std::optional<std::string> value_of_most(const HostValues& values);

// The warning where there is none: it names all hosts, and the hosts of each value. `of`: what has
// the value on each host, as "eth1: "; or empty.
Row split_row(const std::string& check, const HostValues& values, const std::string& of = "");

}  // namespace heddle::acceptance
