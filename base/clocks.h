// The system's clocks.
#pragma once

#include <chrono>

#include "base/nanos.h"

namespace heddle {

// Never goes back; counts from some time before the process began.
inline Nanos steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

// Since 1970; goes back where it is set.
inline Nanos wall_now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

}  // namespace heddle
