// See words.h.
#include "steering/words.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <utility>

namespace heddle::steering {
namespace {

using NamedHost = std::pair<std::string_view, std::string PlaceHosts::*>;
constexpr std::array kPlaceholders = {
    NamedHost{"{host}", &PlaceHosts::host}, NamedHost{"{peer}", &PlaceHosts::peer},
    NamedHost{"{from}", &PlaceHosts::from}, NamedHost{"{to}", &PlaceHosts::to}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Letters, digits and these, a letter or digit first and last.
bool is_label(std::string_view text, std::string_view also, size_t most) {
  const auto plain = [](char c) { return is_letter(c) || is_digit(c); };
  return !text.empty() && text.size() <= most && plain(text.front()) && plain(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return plain(c) || also.find(c) != std::string_view::npos; });
}

// A name of at most 63 characters, with a domain before it or none.
bool is_taint_key(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label(text, "-_.", 63);
  return is_label(text.substr(0, slash), "-.", 253) && is_label(text.substr(slash + 1), "-_.", 63);
}

// False: the word needs a host that is unknown.
bool fill(std::string& word, const PlaceHosts& hosts) {
  for (const auto& [placeholder, field] : kPlaceholders) {
    const std::string& host = hosts.*field;
    for (size_t at = 0; (at = word.find(placeholder, at)) != std::string::npos;) {
      if (host.empty()) return false;
      word.replace(at, placeholder.size(), host);
      at += host.size();
    }
  }
  return true;
}

}  // namespace

bool is_host_name(std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto is_same = [&lower](char one, char other) { return lower(one) == other; };
  constexpr std::string_view kAll = "all";
  return is_label(text, ".-_", 253) && text.find("..") == std::string_view::npos &&
         !std::equal(text.begin(), text.end(), kAll.begin(), kAll.end(), is_same);
}

bool is_allowed(const std::string& host, const std::vector<std::string>& patterns) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(), [&host](const std::string& pattern) {
           return fnmatch(pattern.c_str(), host.c_str(), 0) == 0;
         });
}

std::string unknown_placeholder(std::string_view word) {
  for (size_t at = 0; (at = word.find('{', at)) != std::string_view::npos; ++at) {
    size_t end = at + 1;
    while (end < word.size() && is_letter(word[end])) ++end;
    if (end == at + 1 || end == word.size() || word[end] != '}') continue;
    const std::string_view found = word.substr(at, end + 1 - at);
    const bool known = std::any_of(kPlaceholders.begin(), kPlaceholders.end(),
                                   [found](const NamedHost& each) { return each.first == found; });
    if (!known) return std::string(found);
  }
  return {};
}

bool has_placeholder(std::string_view word) {
  return std::any_of(kPlaceholders.begin(), kPlaceholders.end(), [word](const NamedHost& each) {
    return word.find(each.first) != std::string_view::npos;
  });
}

std::optional<std::vector<std::string>> fill(const std::vector<std::string>& words,
                                             const PlaceHosts& hosts) {
  std::vector<std::string> filled = words;
  for (std::string& word : filled) {
    if (!fill(word, hosts)) return std::nullopt;
  }
  return filled;
}

std::optional<Taint> parse_taint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view effect = text.substr(colon + 1);
  if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
    return std::nullopt;
  }
  const std::string_view pair = text.substr(0, colon);
  const size_t equals = std::min(pair.find('='), pair.size());
  const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
  if (!is_taint_key(pair.substr(0, equals))) return std::nullopt;
  if (!value.empty() && !is_label(value, "-_.", 63)) return std::nullopt;
  return Taint{std::string(pair.substr(0, equals)), std::string(value), std::string(effect)};
}

bool is_condition_type(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() >= 'A' && text.front() <= 'Z' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace heddle::steering
