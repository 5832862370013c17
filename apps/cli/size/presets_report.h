// `heddle size --list`: the presets of models, GPUs and fabrics with their sources.
#pragma once

#include <string>

#include "apps/cli/json.h"

namespace heddle::cli {

std::string presets_text();
// The document of `--json`.
Json presets_document();

}  // namespace heddle::cli
