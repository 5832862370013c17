// Json: what commands print with `--json`; fields keep the order in which they are set.
#pragma once

#include <nlohmann/json.hpp>

namespace heddle::cli {

using Json = nlohmann::ordered_json;

}  // namespace heddle::cli
