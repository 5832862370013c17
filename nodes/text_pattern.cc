// See text_pattern.h. A match goes back where a later part does not fit; what makes that cheap is
// that the longest literal of the pattern must be in the text at all.
#include "nodes/text_pattern.h"

#include <algorithm>
#include <charconv>

#include "nodes/params.h"

namespace heddle::nodes {
namespace {

constexpr std::string_view kDevice = "{device}";
constexpr std::string_view kDetail = "{detail}";
constexpr std::string_view kCode = "{code}";

bool begins_place(std::string_view pattern) {
  return pattern.starts_with('*') || pattern.starts_with(kDevice) || pattern.starts_with(kDetail) ||
         pattern.starts_with(kCode);
}

size_t place_bytes(std::string_view pattern) {
  if (pattern.starts_with('*')) return 1;
  return pattern.starts_with(kCode) ? kCode.size() : kDevice.size();  // as long as kDetail
}
static_assert(kDevice.size() == kDetail.size());

std::string_view literal_at(std::string_view pattern) {
  size_t end = 0;
  while (end < pattern.size() && !begins_place(pattern.substr(end))) ++end;
  return pattern.substr(0, end);
}

std::string_view longest_literal(std::string_view pattern) {
  std::string_view longest;
  while (!pattern.empty()) {
    if (begins_place(pattern)) {
      pattern.remove_prefix(place_bytes(pattern));
      continue;
    }
    const std::string_view literal = literal_at(pattern);
    if (literal.size() > longest.size()) longest = literal;
    pattern.remove_prefix(literal.size());
  }
  return longest;
}

bool matches(std::string_view pattern, std::string_view text, PatternMatch& match);

bool matches_code(std::string_view rest, std::string_view text, PatternMatch& match) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), match.code);
  if (error != std::errc()) return false;
  return matches(rest, text.substr(static_cast<size_t>(end - text.data())), match);
}

// `taken`: where the place's text goes; a word where `is_word`.
bool matches_run(std::string_view rest, std::string_view text, bool is_word,
                 std::string_view& taken, PatternMatch& match) {
  for (size_t bytes = is_word ? 1 : 0; bytes <= text.size(); ++bytes) {
    if (is_word && (text[bytes - 1] == ' ' || text[bytes - 1] == ',')) return false;
    if (matches(rest, text.substr(bytes), match)) {
      taken = text.substr(0, bytes);
      return true;
    }
  }
  return false;
}

bool matches(std::string_view pattern, std::string_view text, PatternMatch& match) {
  const std::string_view literal = literal_at(pattern);
  if (!text.starts_with(literal)) return false;
  pattern.remove_prefix(literal.size());
  text.remove_prefix(literal.size());
  if (pattern.empty()) return text.empty();
  const std::string_view rest = pattern.substr(place_bytes(pattern));
  if (rest.empty() && pattern == "*") return true;
  if (pattern.starts_with(kCode)) return matches_code(rest, text, match);
  std::string_view unused;
  if (pattern.starts_with(kDevice)) return matches_run(rest, text, true, match.device, match);
  const bool is_detail = pattern.starts_with(kDetail);
  return matches_run(rest, text, false, is_detail ? match.detail : unused, match);
}

}  // namespace

std::optional<PatternMatch> match_pattern(std::string_view pattern, std::string_view text) {
  text = text.substr(0, params::kMostMatchedBytes);
  if (text.find(longest_literal(pattern)) == std::string_view::npos) return std::nullopt;
  PatternMatch match;
  if (!matches(pattern, text, match)) return std::nullopt;
  return match;
}

}  // namespace heddle::nodes
