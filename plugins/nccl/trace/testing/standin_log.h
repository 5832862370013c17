// What a stand-in logs of each call: a line with the function's name and arguments, appended to the
// file that STANDIN_LOG names, at once and without a lock.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>

namespace heddle::nccl::trace::testing {

template <typename Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_pointer_v<Value>) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", reinterpret_cast<const void*>(value));
    return text;
  } else if constexpr (std::is_class_v<Value>) {
    return std::string(value.bytes, sizeof value.bytes);
  } else {
    return std::to_string(value);
  }
}

template <typename... Args>
void log_call(const char* name, const Args&... args) {
  static const char* const file = std::getenv("STANDIN_LOG");
  if (file == nullptr) return;
  std::string line = name;
  ((line += " " + text_of(args)), ...);
  line += "\n";
  const int descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0 || write(descriptor, line.data(), line.size()) < 0) std::abort();
  close(descriptor);
}

}  // namespace heddle::nccl::trace::testing
