// See refusal.h.
#include "messaging/refusal.h"

namespace heddle::messaging {

bool refuses(std::string_view why, std::string_view subject) {
  constexpr std::string_view kBefore = "ublish to \"";
  const size_t before = why.find(kBefore);
  if (before == std::string_view::npos) return false;
  const std::string_view rest = why.substr(before + kBefore.size());
  const size_t end = rest.find('"');
  if (end != std::string_view::npos) return rest.substr(0, end) == subject;
  return !rest.empty() && subject.starts_with(rest);
}

}  // namespace heddle::messaging
