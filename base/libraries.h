// The compiler and the libraries behind base's interface that this build uses, for `heddle
// --version`.
#pragma once

#include <string>

namespace heddle {

// "GCC 12.2.0": the compiler of this build.
std::string compiler_version();

// "fmt 9.1.0, spdlog 1.10.0, toml++ 3.3.0": as they were when this was compiled.
std::string library_versions();

}  // namespace heddle
