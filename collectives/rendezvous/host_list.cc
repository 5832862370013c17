// Host lists: see host_list.h.
#include "collectives/rendezvous/host_list.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "collectives/group.h"

namespace heddle::collectives {
namespace {

using Names = std::vector<std::string>;

Unexpected wrong(std::string_view text, std::string why) {
  return fail(ErrorCode::kInvalid, "cannot read the host list '" + std::string(text) + "'",
              std::move(why), "it should look like n[0-3,7],login");
}

std::optional<uint32_t> number(std::string_view digits) {
  uint32_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stopped != end || digits.empty()) return std::nullopt;
  return value;
}

// "0-3,07": every number as it is written into a name. Nothing: they make no sense.
std::optional<Names> expand_numbers(std::string_view inside) {
  Names numbers;
  while (true) {
    const size_t comma = inside.find(',');
    const std::string_view part = inside.substr(0, comma);
    const size_t dash = part.find('-');
    const std::string_view low_digits = part.substr(0, dash);
    const auto low = number(low_digits);
    const auto high = dash == std::string_view::npos ? low : number(part.substr(dash + 1));
    if (!low || !high || *high < *low || *high - *low >= kMostRanks - numbers.size()) {
      return std::nullopt;
    }
    for (uint64_t value = *low; value <= *high; ++value) {
      std::string digits = std::to_string(value);
      if (digits.size() < low_digits.size())
        digits.insert(0, low_digits.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
    if (comma == std::string_view::npos) return numbers;
    inside = inside.substr(comma + 1);
  }
}

// One name with its brackets; false: they make no sense, or it is too many.
bool expand_name(std::string_view name, Names& names) {
  Names made = {""};
  while (!name.empty()) {
    const size_t open = name.find_first_of("[]");
    for (std::string& each : made) each += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = name.find(']', open);
    if (name[open] == ']' || close == std::string_view::npos) return false;
    const auto numbers = expand_numbers(name.substr(open + 1, close - open - 1));
    if (!numbers || made.size() * numbers->size() > kMostRanks) return false;
    Names longer;
    for (const std::string& each : made) {
      for (const std::string& digits : *numbers) longer.push_back(each + digits);
    }
    made = std::move(longer);
    name = name.substr(close + 1);
  }
  if (made.front().empty() || names.size() + made.size() > kMostRanks) return false;
  names.insert(names.end(), made.begin(), made.end());
  return true;
}

// Where the first name ends: at a comma outside of brackets.
size_t end_of_name(std::string_view text) {
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '[') inside = true;
    if (text[at] == ']') inside = false;
    if (text[at] == ',' && !inside) return at;
  }
  return text.size();
}

}  // namespace

Result<Names> expand_host_list(std::string_view text) {
  Names names;
  std::string_view rest = text;
  while (true) {
    const size_t end = end_of_name(rest);
    const std::string_view name = rest.substr(0, end);
    if (name.empty()) return wrong(text, text.empty() ? "it is empty" : "a name is empty");
    if (!expand_name(name, names)) return wrong(text, "'" + std::string(name) + "' makes no sense");
    if (end == rest.size()) return names;
    rest = rest.substr(end + 1);
  }
}

}  // namespace heddle::collectives
