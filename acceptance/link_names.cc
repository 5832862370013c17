// See link_names.h.
#include "acceptance/link_names.h"

#include <algorithm>
#include <string_view>

namespace heddle::acceptance {

std::string direction_name(const std::string& label, bool forward) {
  constexpr std::string_view kBetween = " - ";
  const size_t between = label.find(kBetween);
  if (between == std::string::npos) return label;
  const size_t second = between + kBetween.size();
  const size_t number = std::min(label.find(" #", second), label.size());
  const std::string a = label.substr(0, between);
  const std::string b = label.substr(second, number - second);
  return (forward ? a + " to " + b : b + " to " + a) + label.substr(number);
}

}  // namespace heddle::acceptance
