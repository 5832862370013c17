// How deep a JSON text nests its values, found without building them: copies and
// dumps of a document take stack with each level, and a short text may have thousands.
#pragma once

#include <string_view>

namespace heddle {

// Whether an array or an object of it is nested in `levels` others. Of what is no JSON the answer
// holds for its part before the first mistake.
constexpr bool json_nests_deeper(std::string_view text, int levels) {
  int depth = 0;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      at += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > levels) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace heddle
