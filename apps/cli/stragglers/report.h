// What `heddle stragglers` prints.
#pragma once

#include <cstddef>
#include <string>

#include "apps/cli/json.h"
#include "insight/stragglers.h"

namespace heddle::cli {

// At most `rows` of stages, data-parallel ranks and workers.
std::string stragglers_text(const insight::Stragglers& found, size_t rows);
Json stragglers_document(const insight::Stragglers& found);

}  // namespace heddle::cli
