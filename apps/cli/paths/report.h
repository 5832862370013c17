// Report: what `heddle paths` found, as a table for people and as JSON for programs. Pure
// functions.
#pragma once

#include <string>

#include "apps/cli/paths/look.h"

namespace heddle::cli {

// How many ways there are, or why that is not known and what to do about it; then a row a way.
std::string ways_text(const FoundWays& found);
Json ways_document(const FoundWays& found);
// Whether the ways are known, and all of them work.
bool all_well(const FoundWays& found);

}  // namespace heddle::cli
