// write_all(): a whole text to a descriptor, for small files that are written at once.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace heddle {

// False: a write failed, and errno says why; part of the text may have been written.
inline bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace heddle
