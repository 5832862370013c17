// The page of load over time: every NIC's, in bins, with microbursts, calls and phases beside it.
#pragma once

#include <string>

#include "insight/load.h"

namespace heddle::cli {

// Self-contained; it zooms and shows the values under the pointer.
std::string load_page(const insight::Load& load, const std::string& title);

}  // namespace heddle::cli
