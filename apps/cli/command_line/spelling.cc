// Spelling: see spelling.h.
#include "apps/cli/command_line/spelling.h"

#include <algorithm>

#include "apps/cli/command_line/params.h"

namespace heddle::cli {
namespace {

std::string_view without_dashes(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::vector<size_t> next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view meant = without_dashes(word);
  std::string best;
  size_t best_distance = SIZE_MAX;
  for (const std::string& each : known) {
    const std::string_view name = without_dashes(each);
    const bool begins =
        meant.size() >= params::command_line::kShortestBeginning && name.starts_with(meant);
    const size_t distance = begins ? 1 : edit_distance(meant, name);
    const bool near = begins || distance <= std::max<size_t>(1, name.size() / 3);
    // Of a single letter any other is one step away.
    if (!near || (name.size() < 2 && !begins) || distance >= best_distance) continue;
    best = each;
    best_distance = distance;
  }
  return best;
}

}  // namespace heddle::cli
