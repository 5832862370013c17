// Text patterns: a line of text against a pattern with places, which a table of patterns reads like
// the lines that it is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace heddle::nodes {

// What a line has at the places of a pattern.
struct PatternMatch {
  std::string_view device;
  std::string_view detail;
  uint32_t code = 0;
};

// `pattern` must match the whole of `text`, of which only the first kMostMatchedBytes count.
// Places: "*" any text, "{device}" a word, "{detail}" any text, "{code}" a number in digits, at
// most one of each. Words and texts are as short as a match permits. Nothing: it does not match.
std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view text);

}  // namespace heddle::nodes
