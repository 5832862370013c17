// The failure path of CHECK, out of line so that a check costs its caller one compare and one jump.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace heddle {

void check_failed(const char* file, int line, const char* expression) noexcept {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace heddle
