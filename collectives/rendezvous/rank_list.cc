// Rank lists: see rank_list.h.
#include "collectives/rendezvous/rank_list.h"

#include <fmt/format.h>

#include "collectives/params.h"

namespace heddle::collectives {

std::string rank_list(std::span<const uint32_t> ranks) {
  if (ranks.empty()) return "no rank";
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  size_t shown = 0;
  for (size_t at = 0; at < ranks.size(); ++shown) {
    if (shown == params::kNamedRanges)
      return fmt::format("{} and {} more", text, ranks.size() - at);
    size_t end = at + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += shown == 0 ? " " : ", ";
    text += std::to_string(ranks[at]);
    if (end - at > 1) text += fmt::format("-{}", ranks[end - 1]);
    at = end;
  }
  return text;
}

}  // namespace heddle::collectives
