// What `heddle probe` prints of what it found.
#pragma once

#include <optional>
#include <string>

#include "acceptance/probe_fabric.h"
#include "apps/cli/json.h"
#include "probing/comparison.h"

namespace heddle::cli {

struct ProbeReport {
  acceptance::ProbedFabric probed;
  std::string compared_with;  // a file, or a lab
  std::optional<probing::Comparison> comparison;
};

std::string probe_text(const ProbeReport& report);
Json probe_document(const ProbeReport& report);
// No fault was found, and no difference.
bool is_sound(const ProbeReport& report);

}  // namespace heddle::cli
