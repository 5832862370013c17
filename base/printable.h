// Text from elsewhere (names of programs, command lines, file names) for a terminal.
#pragma once

#include <string>

namespace heddle {

// With '?' for control characters, which a terminal would obey.
inline std::string printable(std::string text) {
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < ' ' || each == 127) each = '?';
  }
  return text;
}

}  // namespace heddle
