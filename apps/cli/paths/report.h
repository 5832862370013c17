// Report: what `heddle paths` found, as a table for people and as JSON for programs. Pure
// functions.
#pragma once

#include <string>

#include "apps/cli/json.h"
#include "measure/routes.h"

namespace heddle::cli {

// The number of routes, or why it is not known and how to change that; then one line per route.
std::string routes_text(const measure::FoundRoutes& found);
Json routes_document(const measure::FoundRoutes& found);
// True if the routes are known and all of them work.
bool all_well(const measure::FoundRoutes& found);

}  // namespace heddle::cli
