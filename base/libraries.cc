// Versions of compiler and libraries: see libraries.h.
#include "base/libraries.h"

#include <fmt/format.h>
#include <spdlog/version.h>
#include <toml++/impl/version.h>

namespace heddle {

std::string compiler_version() {
#ifdef __clang__
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string library_versions() {
  return fmt::format("fmt {}.{}.{}, spdlog {}.{}.{}, toml++ {}.{}.{}", FMT_VERSION / 10000,
                     FMT_VERSION / 100 % 100, FMT_VERSION % 100, SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR,
                     SPDLOG_VER_PATCH, TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH);
}

}  // namespace heddle
