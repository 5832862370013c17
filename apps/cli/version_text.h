// What `heddle --version` prints.
#pragma once

#include <string>

namespace heddle::cli {

// Version, commit and build type; then compiler and libraries, and those found at run time.
std::string version_text();

}  // namespace heddle::cli
