// Text from elsewhere (names of programs, command lines, file names, peers) for a terminal.
#pragma once

#include <string>

namespace heddle {

// With '?' for control characters, which a terminal would obey, and for those that turn the
// direction of text, which would show it in another order. They are those of ASCII, and in UTF-8
// the C1 set (U+0080 to U+009F) and U+061C, U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069
// (Unicode Standard Annex 9, section 2).
inline std::string printable(std::string text) {
  const auto at = [&text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : '\0';
  };
  const auto turns = [](int third, int last) {
    return (third == 0x80 && (last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae))) ||
           (third == 0x81 && last >= 0xa6 && last <= 0xa9);
  };
  for (size_t i = 0; i < text.size(); ++i) {
    size_t length = at(i) < ' ' || at(i) == 127 ? 1 : 0;
    if (at(i) == 0xc2 && at(i + 1) >= 0x80 && at(i + 1) <= 0x9f) length = 2;
    if (at(i) == 0xd8 && at(i + 1) == 0x9c) length = 2;
    if (at(i) == 0xe2 && turns(at(i + 1), at(i + 2))) length = 3;
    for (size_t each = 0; each < length; ++each) text[i + each] = '?';
    i += length == 0 ? 0 : length - 1;
  }
  return text;
}

}  // namespace heddle
