// The output of `heddle plan advise`, as text and as one JSON document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/cli/plan/advise/advised.h"
#include "apps/cli/plan/advise/recorded.h"

namespace heddle::cli {

// `top`: most changes that gain; those that do not follow with their reasons.
std::string advised_text(const RecordedSetting& setting, const Advised& advised, size_t top);
nlohmann::json advised_json(const RecordedSetting& setting, const Advised& advised);

}  // namespace heddle::cli
