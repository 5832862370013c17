// CHECK: an assertion that is always on. It prints the location and the expression and aborts. For
// programming errors only; errors that a user or a peer can cause are a Result or a counted drop.
#pragma once

namespace heddle {

// Prints `file:line: CHECK failed: expression` to standard error and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression) noexcept;

}  // namespace heddle

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::heddle::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
