// CHECK: an assertion that is always on. It ends the process with the place and the expression.
// For errors of the programmer only; what a user or a peer can cause is a Result or a counted drop.
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
