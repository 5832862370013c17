// Text from elsewhere (names of programs, command lines, file names, peers) for a terminal.
#pragma once

#include <string>

namespace heddle {

// With '?' for control characters, which a terminal would obey: those of ASCII, and the C1 set in
// UTF-8 (U+0080 to U+009F).
inline std::string printable(std::string text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto each = static_cast<unsigned char>(text[i]);
    const auto before = i == 0 ? '\0' : static_cast<unsigned char>(text[i - 1]);
    const bool c1 = before == 0xc2 && each >= 0x80 && each <= 0x9f;
    if (c1) text[i - 1] = '?';
    if (c1 || each < ' ' || each == 127) text[i] = '?';
  }
  return text;
}

}  // namespace heddle
