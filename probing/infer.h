// Infer: from observations to a found fabric. A pure function.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "probing/found.h"
#include "probing/observations.h"

namespace heddle::probing {

// The name of the switch that has an address, where a site knows it; nothing elsewhere.
using NameBook = std::function<std::optional<std::string>(const std::string& address)>;

FoundFabric infer(const Observations& observations, const NameBook& names);

}  // namespace heddle::probing
